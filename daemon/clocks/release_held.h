// Gives back, without a kprofd, what one that is gone has noted as held: a keeper for each device, all at once.
// Blocks, for as long as it is told at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/clocks/locks/clock_link.h"
#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

struct ReleasedDevice {
  std::string uuid;
  Status status;  // why it is not given back, or not yet
};

// None: nothing was held. REQUIRES: no kprofd lives that has that folder.
Result<std::vector<ReleasedDevice>> ReleaseHeldClocks(const ClockLink::Settings& settings, Files& files,
                                                      int64_t limit_ms);

}  // namespace kprof
