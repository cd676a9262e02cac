// Requests over the side socket (proto/side_socket.h): hands an open file to kprofd, fetches the launch of a
// run, hands over the sockets for a run's output.
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

// Hands over the supervisor's ends of two Unix stream sockets, to which the run that is submitted next with this key
// passes its output on as it prints it (daemon/launch/launch_protocol.h). They stay the caller's. Fails with kUsage
// where the client starts the supervisor itself, or the daemon is an older one.
Status HandOverOutputSockets(const std::string& socket_path, const std::string& idempotency_key, int out_socket,
                             int err_socket);

struct SideReply {
  UniqueFd file;     // the one that came with the answer, if any
  std::string text;  // the text of the answer
};

// Sends one request and returns its answer. `socket_path` is the daemon's own socket; the side socket lies beside it.
// `files` go with the request and stay the caller's. `what` begins the message of a failure. Waits
// `limit_ms` at most. Fails as the daemon says; kNoDaemon when it does not answer.
Result<SideReply> CallSideSocket(const std::string& socket_path, const SideRequest& request,
                                 const std::vector<int>& files, const std::string& what, int limit_ms = 10'000);

}  // namespace kprof
