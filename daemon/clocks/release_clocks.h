// Gives back, without a kprofd, what the root helper's keepers of clocks have left: in system mode, for whoever cleans
// up after a kprofd. Asks the helper, as kprofd's user. Blocks, for as long as it is told at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/clocks/locks/clock_link.h"
#include "daemon/clocks/pause/profiler_pause.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// Gives back, without a kprofd, what one that is gone has noted as held: a keeper for each device, all at once.
// Blocks, for as long as it is told at most.
struct ReleasedDevice {
  std::string uuid;
  Status status;  // why it is not given back, or not yet
};

// None: nothing was held. REQUIRES: no kprofd lives that has that folder.
Result<std::vector<ReleasedDevice>> ReleaseHeldClocks(const ClockLink::Settings& settings, Files& files,
                                                      int64_t limit_ms);

// Resumes, without a kprofd, what one that is gone has noted as paused. Blocks, for as long as it is told at most.

// Nothing: nothing was paused. Else whether it is resumed, or why not. REQUIRES: no kprofd lives that has that folder.
Result<std::optional<Status>> ReleaseHeldPause(const ProfilerPause::Settings& settings, Files& files, int64_t limit_ms);

// None: nothing was held, or there is no such socket, and so no helper that is to be had: its keepers give back by
// themselves when kprofd ends, and what they could not is noted for its next start. Fails with
// kNoDaemon where the helper is not there now, as it refuses, and kTimedOut. REQUIRES: no kprofd lives.
Result<std::vector<ReleasedDevice>> ReleaseByHelper(const std::string& helper_socket, int64_t limit_ms);

}  // namespace kprof
