// Packets with open files in them, over AF_UNIX SOCK_SEQPACKET sockets, which gRPC cannot carry. A packet comes whole
// or not at all. The protocols give the bytes their meaning (proto/side_socket.h, helper_protocol.h).
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

// A packet with more files is `cut`.
constexpr size_t kMostPacketFiles = 4;

// Returns 0, or errno: EAGAIN when the peer does not keep up. The files stay the caller's.
// REQUIRES: at most kMostPacketFiles.
int SendPacket(int socket, std::string_view bytes, const std::vector<int>& files = {});

struct Packet {
  std::string bytes;
  std::vector<UniqueFd> files;  // CLOEXEC
  // The packet had more bytes or files than fit. Those that fit are here, the rest is closed. No protocol of ours sends
  // such packets.
  bool cut = false;
  // The other end is gone, and nothing is here.
  bool end = false;
};

// Returns 0 and a packet, or errno: EAGAIN when there is none.
int ReceivePacket(int socket, size_t limit_bytes, Packet& packet);

// A connected pair; fails as socketpair does.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
Result<SocketPair> MakeSocketPair(int type);  // SOCK_STREAM or SOCK_SEQPACKET

// A duplicate with a number of `least` or more, for a child that gets files under fixed numbers; invalid, with errno,
// where none is left.
UniqueFd DuplicateFrom(int fd, int least);

// Connects to a listening SOCK_SEQPACKET socket. Fails with kUsage for a path that is too long, kNoDaemon when nobody
// listens, kNotPermitted when it is not for us. Does not wait: a listener whose queue is full counts as absent.
Result<UniqueFd> ConnectPacketSocket(const std::string& path);

// Binds and listens at `path` with this mode; its folder must be there. Replaces the socket of a listener that is gone.
// Fails with kUsage when a listener answers, when a file of another kind is there, or when the path is too long.
// Non-blocking.
Result<UniqueFd> ListenForPackets(const std::string& path, mode_t mode);

}  // namespace kprof
