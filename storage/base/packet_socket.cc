#include "storage/base/packet_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kprof {
namespace {

constexpr int kBacklog = 128;

Result<sockaddr_un> AddressOf(const std::string& path, const std::string& what) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Fail(ErrorCode::kUsage, what,
                "a socket's path has 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                "choose another one");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int Connect(const sockaddr_un& address, UniqueFd& socket) {
  socket.Reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return errno;
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

// A dead listener's file; a living one's, or one of another kind, is in the way.
Status ClearWay(const std::string& path, const sockaddr_un& address, const std::string& what) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return Fail(ErrorCode::kUsage, what, "there is a file of another kind", "choose another path");
  }
  UniqueFd probe;
  if (Connect(address, probe) != ECONNREFUSED) {
    return Fail(ErrorCode::kUsage, what, "somebody listens there", "choose another path");
  }
  if (::unlink(path.c_str()) != 0) return FailErrno(errno, what);
  return OkStatus();
}

}  // namespace

int SendPacket(int socket, std::string_view bytes, const std::vector<int>& files) {
  KPROF_CHECK(files.size() <= kMostPacketFiles);
  iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPacketFiles * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    const size_t files_bytes = files.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(files_bytes);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(files_bytes);
    std::memcpy(CMSG_DATA(part), files.data(), files_bytes);
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0 ? 0 : errno;
}

int ReceivePacket(int socket, size_t limit_bytes, Packet& packet) {
  packet = Packet();
  packet.bytes.resize(limit_bytes);
  iovec piece{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPacketFiles * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = -1;
  do {
    size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  const int error = size < 0 ? errno : 0;
  packet.bytes.resize(size < 0 ? 0 : static_cast<size_t>(size));
  if (error != 0) return error;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      packet.files.emplace_back(fd);
    }
  }
  packet.cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || packet.files.size() > kMostPacketFiles;
  packet.end = size == 0 && packet.files.empty() && !packet.cut;
  return 0;
}

Result<SocketPair> MakeSocketPair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailErrno(errno, "make a pair of sockets", "raise the limit of open files");
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

UniqueFd DuplicateFrom(int fd, int least) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, least));
}

Result<UniqueFd> ConnectPacketSocket(const std::string& path) {
  const std::string what = "reach " + path;
  ASSIGN_OR_RETURN(sockaddr_un address, AddressOf(path, what));
  UniqueFd socket;
  const int error = Connect(address, socket);
  if (error == 0) return socket;
  if (error == ECONNREFUSED || error == ENOENT || error == EAGAIN) {
    return Fail(ErrorCode::kNoDaemon, what, error == EAGAIN ? "it has too many callers" : "nobody listens there");
  }
  return FailErrno(error, what);
}

Result<UniqueFd> ListenForPackets(const std::string& path, mode_t mode) {
  const std::string what = "listen at " + path;
  ASSIGN_OR_RETURN(sockaddr_un address, AddressOf(path, what));
  RETURN_IF_ERROR(ClearWay(path, address, what));
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return FailErrno(errno, what);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), mode) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return FailErrno(errno, what);
  }
  return socket;
}

}  // namespace kprof
