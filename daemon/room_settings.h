// Makes the settings of rooms from the configuration and, for what may be stored, from this node's disk.
#pragma once

#include <string>

#include "daemon/clocks/locks/clock_link.h"
#include "daemon/clocks/pause/profiler_pause.h"
#include "daemon/config/config.h"
#include "daemon/ingest/trace_import.h"
#include "daemon/runs/imports/held_sources.h"
#include "daemon/runs/retention/storage_limits.h"
#include "daemon/runs/run_context.h"

namespace kprof {

// The settings for holding the clocks, and the pause of other profilers. The caller adds whose children their keepers
// are.
ClockLink::Settings ClockSettingsOf(const Config& config, const std::string& boot_id);
ProfilerPause::Settings PauseSettingsOf(const Config& config, const std::string& boot_id);

// The settings for reading sources. The caller adds whose children the readers are.
ImportLimits ImportLimitsOf(const Config& config);
SpoolLimits SpoolLimitsOf(const Config& config);
// The limits of the files that are kept of commands: what they leave free is less on a small disk.
OutputsPolicy OutputsPolicyOf(const Config& config);
// A folder where the ncus of all users of this daemon lock each other out, made where that is ours to do: beside the
// socket in user mode. In system mode the helper has made it beside its own. Empty, and logged: there is none, and an
// ncu that cannot take another user's lock fails.
std::string NcuFolderOf(const Config& config);
// Where the configuration says nothing of what users may store: a fair share of the disk. No limit if the disk's size
// is not known.
StorageLimits::Values StorageLimitsOf(const Config& config);

}  // namespace kprof
