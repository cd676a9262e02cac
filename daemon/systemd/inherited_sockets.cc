#include "daemon/systemd/inherited_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "daemon/systemd/manager_variables.h"

namespace kprof {
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

}  // namespace kprof
