#include "daemon/systemd/service_notifier.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

constexpr int64_t kMicroNs = 1000;

// A status is one line: what follows a line end would be an assignment of its own.
std::string StatusLine(std::string_view status) {
  std::string line = "STATUS=" + std::string(status);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

}  // namespace

Status ServiceNotifier::Ready(std::string_view status) {
  return Send("READY=1\n" + StatusLine(status), kPatienceMs);
}

Status ServiceNotifier::Reloading() {
  return Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(clock_->mono_ns() / kMicroNs), kPatienceMs);
}

Status ServiceNotifier::Stopping(std::string_view status) {
  return Send("STOPPING=1\n" + StatusLine(status), kPatienceMs);
}

Status ServiceNotifier::Ping() {
  return Send("WATCHDOG=1", 0);
}

// A socket of its own for each message: there are a few a minute, and a service manager that was replaced is found
// again.
Status ServiceNotifier::Send(const std::string& message, int patience_ms) const {
  if (address_.empty()) return OkStatus();
  const std::string what = "tell the service manager " + message.substr(0, message.find('\n'));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((address_[0] != '/' && address_[0] != '@') || address_.size() > sizeof address.sun_path) {
    return Fail(ErrorCode::kUsage, what, "NOTIFY_SOCKET is neither a path nor an abstract name: " + address_);
  }
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address_[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    return FailErrno(errno, what);
  }
  const int64_t deadline_ns = clock_->mono_ns() + patience_ms * kNanosPerMilli;
  while (::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    const int64_t left_ms = (deadline_ns - clock_->mono_ns()) / kNanosPerMilli;
    if (errno != EAGAIN || left_ms <= 0) return FailErrno(errno, what);
    pollfd room{socket.get(), POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(left_ms));
  }
  return OkStatus();
}

}  // namespace kprof
