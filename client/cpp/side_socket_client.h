// One request over the side socket (proto/side_socket.h), and its answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/side_socket.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Hands an open file to kprofd for an import, over the side socket (proto/side_socket.h): no byte of it is copied, and
// it is read with the rights of whoever opened it.

// The ticket that SubmitImport claims it by, within a minute. `file` is open for reading alone, and stays the caller's.
// kUsage for what kprofd does not take (KprofClient::UploadSource sends its bytes instead), kNoDaemon where no side
// socket is.
Result<std::string> SendOpenFile(const std::string& socket_path, int file);

// Fetches the launch of a run that is offered to this client over the side socket (proto/side_socket.h).

// The channel that kprof-launch is to get. `socket_path` is the daemon's own socket; the side socket lies beside it.
// Waits `limit_ms` at most. Fails as the daemon says; kNoDaemon when it does not answer.
Result<UniqueFd> TakeLaunch(const std::string& socket_path, const std::string& run_id, int limit_ms = 10'000);

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
