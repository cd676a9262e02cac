// Where the clocks, and other profilers' pause, are held, as the configuration has it.
#pragma once

#include <string>

#include "daemon/clocks/locks/clock_link.h"
#include "daemon/clocks/pause/profiler_pause.h"
#include "daemon/config/config.h"

namespace kprof {

// But whose children its keepers are, which is its caller's to say.
ClockLink::Settings ClockSettingsOf(const Config& config, const std::string& boot_id);
ProfilerPause::Settings PauseSettingsOf(const Config& config, const std::string& boot_id);

}  // namespace kprof
