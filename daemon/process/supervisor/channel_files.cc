#include "daemon/process/supervisor/channel_files.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>

#include "daemon/launch/launch_protocol.h"

namespace kprof {

ChannelFiles ReceiveChannelFiles(int socket, int flags) {
  char hello = 0;
  iovec piece{&hello, 1};
  alignas(cmsghdr) char control[CMSG_SPACE((kOutputFiles + 1) * sizeof(int))];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ChannelFiles received;
  received.size = ::recvmsg(socket, &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (received.size < 0) return received;
  received.cut = (message.msg_flags & MSG_CTRUNC) != 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      received.files.emplace_back(fd);
    }
  }
  return received;
}

}  // namespace kprof
