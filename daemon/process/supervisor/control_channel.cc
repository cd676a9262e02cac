#include "daemon/process/supervisor/control_channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

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

namespace {

int NumberOf(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// Of one of a pair of Unix stream sockets; nothing for any other file.
std::optional<ucred> MakerOf(int socket) {
  ucred maker{};
  socklen_t size = sizeof maker;
  const bool good = NumberOf(socket, SO_DOMAIN) == AF_UNIX && NumberOf(socket, SO_TYPE) == SOCK_STREAM &&
                    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0;
  if (!good) return std::nullopt;
  return maker;
}

}  // namespace

ControlChannel::ControlChannel(UniqueFd socket) : socket_(std::move(socket)) {
  ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC);
}

void ControlChannel::Receive() {
  if (closed_) return;
  if (!has_files_) return ReceiveFiles();
  char block[64 << 10];
  ssize_t size = ::recv(socket_.get(), block, sizeof block, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) {
    closed_ = true;
    return;
  }
  frames_.Add(std::string_view(block, static_cast<size_t>(size)));
}

std::optional<FrameReader::Frame> ControlChannel::Next() {
  if (closed_) return std::nullopt;
  Result<std::optional<FrameReader::Frame>> frame = frames_.Next();
  if (!frame.ok()) {
    if (!frames_.greeted()) {
      SendBytes(FrameOf(LaunchMessage::kLaunchFailed, EncodeLaunchFailure({kOtherBuildsStep, EPROTO})));
    }
    closed_ = true;
    return std::nullopt;
  }
  return *std::move(frame);
}

void ControlChannel::Send(LaunchMessage type, std::string_view payload) {
  SendBytes(FirstTime(FrameOf(type, payload)));
}

std::string ControlChannel::FirstTime(std::string frame) {
  return std::exchange(said_hello_, true) ? frame : HelloFrame() + frame;
}

bool ControlChannel::SendWithFile(LaunchMessage type, std::string_view payload, int fd) {
  if (closed_) return true;
  std::string frame = FrameOf(type, payload);
  iovec piece{frame.data(), frame.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (sent < 0) {
    closed_ = true;
    return true;
  }
  outbox_ += frame.substr(static_cast<size_t>(sent));  // the descriptor went with the first byte
  return true;
}

void ControlChannel::Flush() {
  if (closed_ || outbox_.empty()) return;
  const ssize_t sent = ::send(socket_.get(), outbox_.data(), outbox_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    outbox_.erase(0, static_cast<size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    closed_ = true;
  }
}

void ControlChannel::SendBytes(const std::string& bytes) {
  if (closed_) return;
  outbox_ += bytes;
  Flush();
}

void ControlChannel::ReceiveFiles() {
  ChannelFiles received = ReceiveChannelFiles(socket_.get(), 0);
  if (received.size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  files_ = std::move(received.files);
  has_files_ = true;
  const bool sockets = !files_.empty() && NumberOf(files_.front().get(), SO_TYPE) >= 0;
  const size_t expected = sockets ? kOutputSockets : kOutputFiles;
  if (files_.size() == expected + 1) {
    held_ = std::move(files_.back());
    files_.pop_back();
  }
  if (received.size != 1 || files_.size() != expected || received.cut) closed_ = true;
}

bool ControlChannel::HasOutputSockets() const {
  const std::optional<ucred> maker = MakerOf(socket_.get());
  return maker && files_.size() == kOutputSockets &&
         std::all_of(files_.begin(), files_.end(), [&](const UniqueFd& file) {
           const std::optional<ucred> other = MakerOf(file.get());
           return other && other->pid == maker->pid && other->uid == maker->uid && other->gid == maker->gid;
         });
}

}  // namespace kprof
