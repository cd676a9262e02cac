// The parts of the daemon that runs use; everything is borrowed and outlives the runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/base/worker_turns.h"
#include "daemon/devices/device_book.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/ingest/trace_look.h"
#include "daemon/launch/output_log.h"
#include "daemon/process/helper_client/caller_grants.h"
#include "daemon/process/launchers/client_outputs.h"
#include "daemon/process/launchers/launcher.h"
#include "daemon/process/launchers/output_intake.h"
#include "daemon/runs/command/run_charts.h"
#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/retention/expiry_clock.h"
#include "daemon/runs/retention/storage_limits.h"
#include "daemon/runs/run_observer.h"
#include "storage/base/clock.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"
#include "storage/trace/read/part_pool.h"

namespace kprof {

// The parts that imports use; everything is borrowed and outlives the runs.
struct ImportContext {
  // ImportTrace, or a test's.
  using Import = std::function<Result<ImportedPart>(
      const ImportSource& source, const ImportLimits& limits, Files& files, const std::string& part_path,
      const std::stop_token& stop, const std::function<void(const ImportProgress&)>& progress)>;
  Import import;
  // part_writer.h, or a test's.
  using SetRank =
      std::function<Result<int64_t>(Files& files, const std::string& part_path, std::optional<int64_t> rank)>;
  SetRank set_rank;
  ImportLimits limits;
  HeldSources& sources;
  WorkerPool& pool;     // the imports under way, each for as long as it takes
  WorkerPool& hashing;  // for sources of the same size as an earlier one
  // For looks at several sources, in turns of their accounts. Null where `look` is none.
  WorkerTurns* looking = nullptr;
  // LookAtTrace, or a test's. None: the sources of an import are one run, unless they are to be several.
  using Look = std::function<Result<SourceLook>(const ImportSource& source, const ImportLimits& limits,
                                                const std::stop_token& stop)>;
  Look look = {};
};

// Limits of the files that are kept of a command (run_outputs.h).
struct OutputsPolicy {
  int64_t files = 1000;                        // of a run
  int64_t bytes = int64_t{64} << 30;           // of all files of a run
  int64_t kept_free_bytes = int64_t{1} << 30;  // of the disk, that they leave to everybody else
};

class DeviceClocks;
class NodeDevices;
class ProfilerPause;
class UserNames;

struct RunContext {
  IoLoop& loop;
  const Clock& clock;
  WorkerPool& workers;       // short work: rows, small files
  WorkerPool& files_work;    // longer work: collecting a run's logs, deleting it
  WorkerPool& outputs_work;  // the longest work: copying files that commands left
  Files& files;
  Catalog& catalog;
  Launcher& launcher;
  const DeviceBook& devices;
  OutputLimits output;
  RunObserver* observer = nullptr;  // null: nothing is counted
  // Null where the daemon starts all commands itself. Else attached runs of local callers are started by their clients,
  // and all others as their callers: these are registered when they submit.
  CallerGrants* grants = nullptr;
  const StorageLimits* storage = nullptr;  // null: no limits
  // Null where `grants` is. Else the daemon writes the output that the supervisors of others send.
  OutputIntake* intake = nullptr;
  ClientOutputs* client_outputs = nullptr;  // null: clients take their output elsewhere
  // The id of this boot (clock.h); empty where the kernel does not tell: then all boots are taken for the same.
  std::string boot_id = {};
  ExpiryClock* expiry_clock = nullptr;     // null: the clock is believed
  const ImportContext* imports = nullptr;  // null: nothing is imported
  PartPool* trace_parts = nullptr;         // closes those of deleted runs; null: nobody reads traces
  DeviceClocks* clocks = nullptr;          // null: none are locked
  // Null: no devices are watched. Else `user_names` is there, too.
  NodeDevices* node_devices = nullptr;
  UserNames* user_names = nullptr;
  ProfilerPause* profiler_pause = nullptr;  // null: nobody else profiles here, or nobody pauses them
  OutputsPolicy outputs = {};
  DrawRunCharts draw_charts = {};  // null: no charts are kept
  std::string tool_path = {};      // folders where vendors' programs are looked for first (capture/vendor_program.h)
  std::string ncu_folder = {};     // made by PrepareNcuFolder (capture/ncu_lock.h); empty: there is none
};

}  // namespace kprof
