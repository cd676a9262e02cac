// Makes a run's folder with its open log files (which only a supervisor of our own user gets), and turns these into
// artifacts when the run is over. Blocking: from a worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/launch/output_log.h"
#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/layout.h"

namespace kprof {

// The variable in every command's environment that marks the runs of one daemon: "KPROF_STATE=<device>-<inode>", the
// state folder's place on the disk. So a daemon on a copy or a restored backup of a catalog never takes another
// daemon's processes for its own. Any thread; reads the folder's facts.
std::string StateMarker(const Layout& layout);

constexpr std::string_view kStdoutName = "stdout.log";
constexpr std::string_view kStderrName = "stderr.log";
constexpr std::string_view kProgressName = "output.progress";

// Names that no uploaded artifact may take.
bool IsReservedArtifactName(std::string_view name);

struct RunFiles {
  std::unique_ptr<File> stdout_log;
  std::unique_ptr<File> stderr_log;
  std::unique_ptr<File> progress;
  std::unique_ptr<File> held;  // `progress` for reading, where a client starts the supervisor (client_launcher.h)
};

// Creates the folder and the files; leaves nothing behind when it fails.
Result<RunFiles> CreateRunFolder(Files& files, const Layout& layout, const std::string& run_id);

struct Collected {
  FinishedOutput stdout_log;
  FinishedOutput stderr_log;
  std::vector<ArtifactRow> artifacts;
};

// Finishes both logs and lists what the run left. REQUIRES: the supervisor writes to them no more: it has said so, or
// has been swept, by its link or by a start (FindMarkedProcesses). Durable when it returns. A folder with nothing in it
// is removed. Also works for a run that failed before its logs were there, and on what a crash left. `has_samples`:
// there is a part of the run's devices (device_watch.h); else an unfinished one is removed.
Result<Collected> CollectRunFolder(Files& files, const Layout& layout, const std::string& run_id, bool has_samples);

}  // namespace kprof
