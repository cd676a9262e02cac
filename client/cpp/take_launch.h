// Fetches the launch of a run that is offered to this client over the side socket (proto/side_socket.h).
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

// The channel that kprof-launch is to get. `socket_path` is the daemon's own socket; the side socket lies beside it.
// Waits `limit_ms` at most. Fails as the daemon says; kNoDaemon when it does not answer.
Result<UniqueFd> TakeLaunch(const std::string& socket_path, const std::string& run_id, int limit_ms = 10'000);

}  // namespace kprof
