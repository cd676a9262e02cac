#include "daemon/process/caller_connections.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kMostOfOne = 8;
constexpr size_t kMostInAll = 4096;

std::optional<uint64_t> CookieOf(int socket) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return std::nullopt;
  return cookie;
}

bool IsOpen(int connection) {
  pollfd state{connection, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) >= 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

}  // namespace

void CallerConnections::Add(uint32_t uid, int connection) {
  const std::optional<uint64_t> cookie = CookieOf(connection);
  if (!cookie) return;
  auto is_theirs = [uid](const Entry& entry) { return entry.uid == uid; };
  if (std::count_if(entries_.begin(), entries_.end(), is_theirs) >= static_cast<std::ptrdiff_t>(kMostOfOne)) {
    entries_.erase(std::find_if(entries_.begin(), entries_.end(), is_theirs));
  } else if (entries_.size() >= kMostInAll) {
    entries_.pop_front();
  }
  entries_.push_back({uid, connection, *cookie});
}

// The number may be anybody's by now: it is the copy that is looked at.
UniqueFd CallerConnections::Of(uint32_t uid) {
  UniqueFd found;
  for (auto entry = entries_.rbegin(); entry != entries_.rend() && !found.valid(); ++entry) {
    if (entry->uid != uid) continue;
    UniqueFd copy(::fcntl(entry->number, F_DUPFD_CLOEXEC, 0));
    if (copy.valid() && CookieOf(copy.get()) == entry->cookie && IsOpen(copy.get())) found = std::move(copy);
  }
  return found;
}

}  // namespace kprof
