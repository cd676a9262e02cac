// One request over the side socket (proto/side_socket.h), and its answer.
#pragma once

#include <string>
#include <vector>

#include "proto/side_socket.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

struct SideReply {
  UniqueFd file;     // that came with the answer, if any
  std::string text;  // the answer's own
};

// `socket_path` is the daemon's own socket; the side socket lies beside it. `file`: goes with the request and stays the
// caller's; -1: none. `what` begins what a failure says. Waits `limit_ms` at most. Fails as the daemon says; kNoDaemon
// when it does not answer.
Result<SideReply> CallSideSocket(const std::string& socket_path, const SideRequest& request, int file,
                                 const std::string& what, int limit_ms = 10'000);

}  // namespace kprof
