// Packets with open files in them, over AF_UNIX SOCK_SEQPACKET sockets: for what gRPC cannot carry. A packet comes
// whole or not at all. What the bytes mean is the protocol's (proto/side_socket.h, helper_protocol.h).
//
// Any thread; one at a time per socket. Never waits, and never raises SIGPIPE.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// More in one packet makes it `cut`.
constexpr size_t kMostPacketFiles = 4;

// Returns 0, or errno: EAGAIN when the peer does not keep up. The files stay the caller's.
// REQUIRES: at most kMostPacketFiles.
int SendPacket(int socket, std::string_view bytes, const std::vector<int>& files = {});

struct Packet {
  std::string bytes;
  std::vector<UniqueFd> files;  // CLOEXEC
  // It had more bytes or files than fit; what did fit is here, the rest is closed. No protocol of ours sends such.
  bool cut = false;
  // Nobody is at the other end any more, and nothing is here.
  bool end = false;
};

// 0 and a packet, or errno: EAGAIN when none is there.
int ReceivePacket(int socket, size_t limit_bytes, Packet& packet);

// A connected pair; fails as socketpair does.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
Result<SocketPair> MakeSocketPair(int type);  // SOCK_STREAM or SOCK_SEQPACKET

// Connects to a listening SOCK_SEQPACKET socket. Fails with kUsage for a path that is too long, kNoDaemon when nobody
// listens, kNotPermitted when it is not for us. Does not wait: a listener whose queue is full counts as absent.
Result<UniqueFd> ConnectPacketSocket(const std::string& path);

// Binds and listens there, in a folder that is there, with this mode; what is left of a listener that is gone is
// replaced. Fails with kUsage when somebody answers, when a file of another kind is there, or when the path is too
// long. Non-blocking.
Result<UniqueFd> ListenForPackets(const std::string& path, mode_t mode);

}  // namespace kprof
