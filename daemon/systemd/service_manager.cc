#include "daemon/systemd/service_manager.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/descriptors.h"

namespace kprof {
namespace {

// Reads a variable by which a service manager speaks to the process that it starts; empty when absent. It is for this
// one process alone, so reading it takes it out of the environment. Only while there is no second thread.
std::string TakeVariable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value != nullptr ? value : "";
  ::unsetenv(name);
  return text;
}

// A decimal number from 0; nothing for any other text.
std::optional<int64_t> ReadWholeNumber(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [read_to, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || read_to != end || number < 0) return std::nullopt;
  return number;
}

// Whether a variable that names a process (LISTEN_PID, WATCHDOG_PID) means this one.
bool IsOwnPid(std::string_view text) {
  return ReadWholeNumber(text) == ::getpid();
}

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

namespace {

constexpr char kWhat[] = "take the sockets of the service manager";

// The next of "a:b:c"; "unknown", as sd_listen_fds_with_names says, when there are no more.
std::string NextName(std::string_view& names) {
  if (names.empty()) return "unknown";
  std::string name(names.substr(0, names.find(':')));
  names.remove_prefix(std::min(names.size(), name.size() + 1));
  return name;
}

// -1 where it is no socket, or the option is not known of it.
int SocketOption(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

Result<InheritedSockets> InheritedSockets::TakeFromEnvironment(int first_fd) {
  const std::string pid = TakeVariable("LISTEN_PID");
  const std::string count_text = TakeVariable("LISTEN_FDS");
  const std::string names_text = TakeVariable("LISTEN_FDNAMES");
  InheritedSockets sockets;
  if (!IsOwnPid(pid)) return sockets;
  const std::optional<int64_t> count = ReadWholeNumber(count_text);
  if (!count || *count > kMostSockets) {
    return Fail(ErrorCode::kUsage, kWhat,
                "LISTEN_FDS is '" + count_text + "', not a number from 0 to " + std::to_string(kMostSockets));
  }
  std::string_view names = names_text;
  for (int fd = first_fd; fd < first_fd + *count; ++fd) {
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return Fail(ErrorCode::kUsage, kWhat,
                  "LISTEN_FDS is " + count_text + ", but descriptor " + std::to_string(fd) + " is not open");
    }
    sockets.passed_.push_back({NextName(names), UniqueFd(fd)});
  }
  return sockets;
}

Result<UniqueFd> InheritedSockets::Take(std::string_view name, int type) {
  for (Passed& passed : passed_) {
    const int fd = passed.fd.get();
    if (passed.name != name || SocketOption(fd, SO_TYPE) != type) continue;
    const std::string what = kWhat + (", " + passed.name);
    if (SocketOption(fd, SO_DOMAIN) != AF_UNIX) {
      return Fail(ErrorCode::kUsage, what, "it is no Unix socket", "give a path in the socket unit");
    }
    if (SocketOption(fd, SO_ACCEPTCONN) != 1) {
      return Fail(ErrorCode::kUsage, what, "it does not listen", "say Accept=no in the socket unit");
    }
    if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) return FailErrno(errno, what);
    UniqueFd taken = std::move(passed.fd);
    std::erase_if(passed_, [](const Passed& each) { return !each.fd.valid(); });
    return taken;
  }
  return UniqueFd();
}

std::vector<std::string> InheritedSockets::left() const {
  std::vector<std::string> names;
  for (const Passed& passed : passed_) names.push_back(passed.name);
  return names;
}

namespace {

constexpr int64_t kNanosPerMicro = 1000;
constexpr int64_t kMostTimeoutUsec = INT64_MAX / kNanosPerMicro;

Result<int64_t> TakeWatchdogTimeout() {
  const std::string usec_text = TakeVariable("WATCHDOG_USEC");
  const std::string pid = TakeVariable("WATCHDOG_PID");
  if (usec_text.empty() || (!pid.empty() && !IsOwnPid(pid))) return 0;
  const std::optional<int64_t> usec = ReadWholeNumber(usec_text);
  if (!usec || *usec > kMostTimeoutUsec) {
    return Fail(ErrorCode::kUsage, "meet the service manager", "WATCHDOG_USEC is no number of µs: " + usec_text);
  }
  return *usec * kNanosPerMicro;
}

}  // namespace

Result<ServiceManager> MeetServiceManager(const Clock& clock) {
  ServiceNotifier notifier(TakeVariable("NOTIFY_SOCKET"), clock);
  ASSIGN_OR_RETURN(int64_t watchdog_timeout_ns, TakeWatchdogTimeout());
  ASSIGN_OR_RETURN(InheritedSockets sockets, InheritedSockets::TakeFromEnvironment());
  return ServiceManager{std::move(notifier), watchdog_timeout_ns, std::move(sockets)};
}

}  // namespace kprof
