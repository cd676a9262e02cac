// What the configuration allows, and this node's disk, as those take it who keep to it.
#pragma once

#include <string>

#include "daemon/clocks/locks/clock_link.h"
#include "daemon/clocks/pause/profiler_pause.h"
#include "daemon/config/config.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/retention/storage_limits.h"

namespace kprof {

// Where the clocks, and other profilers' pause, are held, as the configuration has it.

// But whose children its keepers are, which is its caller's to say.
ClockLink::Settings ClockSettingsOf(const Config& config, const std::string& boot_id);
ProfilerPause::Settings PauseSettingsOf(const Config& config, const std::string& boot_id);

// All but whose children its readers are, which is its caller's to say.
ImportLimits ImportLimitsOf(const Config& config);
SpoolLimits SpoolLimitsOf(const Config& config);
// Where it says nothing of what users may store, their fair share of the disk; its size not being known, no limit.
StorageLimits::Values StorageLimitsOf(const Config& config);

}  // namespace kprof
