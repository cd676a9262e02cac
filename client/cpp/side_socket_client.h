// Requests over the side socket (proto/side_socket.h): hands an open file to kprofd, fetches the launch of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/side_socket.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Hands an open file to kprofd for an import: no byte of it is copied, and kprofd reads it with the rights of the one
// who opened it. Returns the ticket with which SubmitImport claims it, within a minute. `file` is open for reading
// alone, and stays the caller's. Fails with kUsage for a file that kprofd does not take (KprofClient::UploadSource
// sends its bytes instead), kNoDaemon when there is no side socket.
Result<std::string> SendOpenFile(const std::string& socket_path, int file);

// Fetches the launch of a run that is offered to this client: the channel for kprof-launch. `socket_path` is the
// daemon's own socket; the side socket lies beside it. Waits `limit_ms` at most. Fails as the daemon says; kNoDaemon
// when it does not answer.
Result<UniqueFd> TakeLaunch(const std::string& socket_path, const std::string& run_id, int limit_ms = 10'000);

struct SideReply {
  UniqueFd file;     // the one that came with the answer, if any
  std::string text;  // the text of the answer
};

// Sends one request and returns its answer. `socket_path` is the daemon's own socket; the side socket lies beside it.
// `file`: goes with the request and stays the caller's; -1: none. `what` begins the message of a failure. Waits
// `limit_ms` at most. Fails as the daemon says; kNoDaemon when it does not answer.
Result<SideReply> CallSideSocket(const std::string& socket_path, const SideRequest& request, int file,
                                 const std::string& what, int limit_ms = 10'000);

}  // namespace kprof
