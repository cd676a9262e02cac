// A run's folder while it runs and when it is over: the open log files (which only a supervisor of our own user gets),
// and turning them into artifacts. Blocking: from a worker.
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

// Whose runs these are: a variable in every command's environment that names the state folder by where it is on the
// disk, so that a daemon on a copy or a restored backup of a catalog never takes another daemon's processes for its
// own.

// "KPROF_STATE=<device>-<inode>". Any thread; reads the folder's facts.
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
  std::unique_ptr<File> held;  // the same for reading, where a client starts the supervisor (client_launcher.h)
};

// Creates the folder and the files; leaves nothing behind when it fails.
Result<RunFiles> CreateRunFolder(Files& files, const Layout& layout, const std::string& run_id);

struct Collected {
  FinishedOutput stdout_log;
  FinishedOutput stderr_log;
  std::vector<ArtifactRow> artifacts;
};

// Finishes both logs and lists what the run left. The supervisor writes to them no more: it has said so, or has been
// swept, by its link or by a start (FindMarkedProcesses). Durable when it returns. A folder with nothing in it is
// removed; so is one of a run that never got that far. Also works on what a crash left. `has_samples`: of its devices
// there is a part (device_watch.h); else what was begun of one is removed.
Result<Collected> CollectRunFolder(Files& files, const Layout& layout, const std::string& run_id, bool has_samples);

}  // namespace kprof
