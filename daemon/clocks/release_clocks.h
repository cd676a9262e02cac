// Gives back, without a kprofd, the clocks and the pause that one that is gone has left: `kprofd --release-clocks`. In
// system mode the root helper knows the clocks; all else is in notes on the disk. Each call blocks, as long as it is
// told at most.
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

// A device whose clocks were left held.
struct ReleasedDevice {
  std::string uuid;
  Status status;  // why it is not given back, or not yet
};

// Gives back the clocks that are noted as held: one keeper for each device, all at once. Empty: nothing was held.
// REQUIRES: no kprofd lives that has that folder.
Result<std::vector<ReleasedDevice>> ReleaseHeldClocks(const ClockLink::Settings& settings, Files& files,
                                                      int64_t limit_ms);

// Resumes the profiler that is noted as paused. Absent: nothing was paused. Else whether it is resumed, or why not.
// REQUIRES: no kprofd lives that has that folder.
Result<std::optional<Status>> ReleaseHeldPause(const ProfilerPause::Settings& settings, Files& files, int64_t limit_ms);

// Gives back the clocks that the helper's keepers have left held. Asks the helper, as kprofd's user. Empty: nothing was
// held, or there is no such socket and so no helper. In that case its keepers have given back by themselves when kprofd
// ended; the rest is noted for kprofd's next start. Fails with kNoDaemon where the helper is not there now, with
// kTimedOut, and as it refuses. REQUIRES: no kprofd lives.
Result<std::vector<ReleasedDevice>> ReleaseByHelper(const std::string& helper_socket, int64_t limit_ms);

}  // namespace kprof
