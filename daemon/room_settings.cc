#include "daemon/room_settings.h"

#include "daemon/base/log.h"
#include "daemon/capture/ncu_lock.h"
#include "daemon/daemon.h"

namespace kprof {

ClockLink::Settings ClockSettingsOf(const Config& config, const std::string& boot_id) {
  ClockLink::Settings settings;
  settings.program = config.clocks_path;
  settings.library = config.devices.nvml_library;
  settings.folder = config.state_folder + "/clocks";
  settings.boot_id = boot_id;
  return settings;
}

ProfilerPause::Settings PauseSettingsOf(const Config& config, const std::string& boot_id) {
  ProfilerPause::Settings settings;
  settings.program = config.pause_path;
  settings.library = config.devices.dcgm_library;
  settings.tool_path = config.devices.tool_path;
  settings.folder = config.state_folder + "/profilers";
  settings.boot_id = boot_id;
  return settings;
}

ImportLimits ImportLimitsOf(const Config& config) {
  ImportLimits limits;
  limits.program = config.ingest_path;
  limits.made_by = DaemonVersion();
  limits.memory_bytes = config.import.memory_bytes;
  limits.unpacked_bytes = config.import.source_bytes;
  return limits;
}

SpoolLimits SpoolLimitsOf(const Config& config) {
  SpoolLimits limits{.source_bytes = config.import.source_bytes};
  const Result<int64_t> kept_bytes = KeptFreeBytes(config.state_folder);
  if (kept_bytes.ok()) limits.kept_free_bytes = *kept_bytes;
  return limits;
}

OutputsPolicy OutputsPolicyOf(const Config& config) {
  OutputsPolicy policy;
  const Result<int64_t> kept_bytes = KeptFreeBytes(config.state_folder);
  if (kept_bytes.ok()) policy.kept_free_bytes = *kept_bytes;
  return policy;
}

std::string NcuFolderOf(const Config& config) {
  if (config.mode == Mode::kSystem) return FolderOf(config.helper_socket_path) + "/ncu";
  std::string folder = FolderOf(config.socket_path) + "/ncu";
  const Status made = PrepareNcuFolder(folder);
  if (made.ok()) return folder;
  LogWarning("ncu has no lock of ours to fall back to", {{"error", made.ToString()}});
  return "";
}

StorageLimits::Values StorageLimitsOf(const Config& config) {
  StorageLimits::Values values{.artifact_bytes = config.retention.max_artifact_bytes,
                               .runs_per_uid = config.storage.runs_per_uid,
                               .bytes_per_uid = config.storage.bytes_per_uid.value_or(0)};
  if (config.storage.bytes_per_uid) return values;
  const Result<int64_t> fair = FairBytesPerUid(config.state_folder);
  if (fair.ok()) {
    values.bytes_per_uid = *fair;
  } else {
    LogWarning("what users store has no limit but the disk", {{"error", fair.status().ToString()}});
  }
  return values;
}

}  // namespace kprof
