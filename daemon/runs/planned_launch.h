// What a run's command line and environment become under its tool: the same answer when the run is submitted, when its
// caller is there to vouch for it, and when it starts. Any thread.
#pragma once

#include <string>

#include "daemon/process/launch_protocol.h"
#include "storage/base/status.h"

namespace kprof {

// REQUIRES: there is such a tool, and its Check passed. Fails as its Plan does.
Result<LaunchRequest> PlannedLaunch(const std::string& tool_name, LaunchRequest callers);

}  // namespace kprof
