// Gives back, without a kprofd, what the root helper's keepers of clocks have left: in system mode, for whoever cleans
// up after a kprofd. Asks the helper, as kprofd's user. Blocks, for as long as it is told at most.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/clocks/release_held.h"
#include "storage/base/status.h"

namespace kprof {

// None: nothing was held, or there is no such socket, and so no helper that is to be had: its keepers give back by
// themselves when kprofd ends, and what they could not is noted for its next start. Fails with
// kNoDaemon where the helper is not there now, as it refuses, and kTimedOut. REQUIRES: no kprofd lives.
Result<std::vector<ReleasedDevice>> ReleaseByHelper(const std::string& helper_socket, int64_t limit_ms);

}  // namespace kprof
