#include "daemon/clock_settings.h"

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

}  // namespace kprof
