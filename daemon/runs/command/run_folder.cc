#include "daemon/runs/command/run_folder.h"

#include <sys/stat.h>

#include <algorithm>

#include "daemon/launch/launch_request.h"
#include "daemon/runs/command/device_watch.h"
#include "daemon/runs/command/given_files.h"

namespace kprof {

std::string StateMarker(const Layout& layout) {
  struct stat info {};
  (void)::stat(layout.state_folder.c_str(), &info);
  return std::string(kStateVariable) + "=" + std::to_string(info.st_dev) + "-" + std::to_string(info.st_ino);
}

bool IsReservedArtifactName(std::string_view name) {
  return name == kStdoutName || name == kStderrName || name == kProgressName || name.ends_with(kTracePartEnding);
}

Result<RunFiles> CreateRunFolder(Files& files, const Layout& layout, const std::string& run_id) {
  auto create = [&]() -> Result<RunFiles> {
    RETURN_IF_ERROR(files.CreateFolder(layout.RunFolder(run_id)));
    RunFiles made;
    ASSIGN_OR_RETURN(made.stdout_log, files.Create(layout.ArtifactPath(run_id, kStdoutName)));
    ASSIGN_OR_RETURN(made.stderr_log, files.Create(layout.ArtifactPath(run_id, kStderrName)));
    ASSIGN_OR_RETURN(made.progress, files.Create(layout.ArtifactPath(run_id, kProgressName)));
    return made;
  };
  Result<RunFiles> made = create();
  if (!made.ok()) (void)files.RemoveTree(layout.RunFolder(run_id));
  return made;
}

Result<Collected> CollectRunFolder(Files& files, const Layout& layout, const std::string& run_id, bool has_samples) {
  const std::string folder = layout.RunFolder(run_id);
  const std::string progress = layout.ArtifactPath(run_id, kProgressName);
  Collected collected;
  auto finish = [&](std::string_view name, OutputStream stream, FinishedOutput& out) -> Status {
    const std::string path = layout.ArtifactPath(run_id, name);
    Result<FinishedOutput> finished = FinishOutput(files, path, progress, stream);
    if (!finished.ok()) {
      // A run that failed before its logs were there has none.
      return finished.status().code() == ErrorCode::kNotFound ? OkStatus() : finished.status();
    }
    out = *finished;
    if (out.size_bytes > 0) collected.artifacts.push_back({std::string(name), out.size_bytes, out.sha256});
    return OkStatus();
  };
  // In the order of their names, as the catalog lists them.
  ASSIGN_OR_RETURN(collected.artifacts, FindGivenFiles(files, layout, run_id));
  RETURN_IF_ERROR(finish(kStderrName, OutputStream::kStderr, collected.stderr_log));
  RETURN_IF_ERROR(finish(kStdoutName, OutputStream::kStdout, collected.stdout_log));
  std::sort(collected.artifacts.begin(), collected.artifacts.end(),
            [](const ArtifactRow& a, const ArtifactRow& b) { return a.name < b.name; });
  RETURN_IF_ERROR(files.Remove(progress));
  if (!has_samples) RETURN_IF_ERROR(RemoveSamplePart(files, layout, run_id));
  if (collected.artifacts.empty() && !has_samples) {
    RETURN_IF_ERROR(files.RemoveTree(folder));
    return collected;
  }
  RETURN_IF_ERROR(files.SyncFolder(folder));
  RETURN_IF_ERROR(files.SyncFolder(layout.RunsFolder()));
  return collected;
}

}  // namespace kprof
