#include "daemon/process/caller_connections.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>

namespace kprof {
namespace {

constexpr size_t kMostOfOne = 4;
constexpr size_t kMostInAll = 512;

bool IsOpen(int connection) {
  pollfd state{connection, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) >= 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

UniqueFd CopyOf(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

void CallerConnections::DropClosed() {
  std::erase_if(entries_, [](const Entry& entry) { return !IsOpen(entry.connection.get()); });
}

void CallerConnections::Add(uint32_t uid, int connection) {
  DropClosed();
  auto is_theirs = [uid](const Entry& entry) { return entry.uid == uid; };
  if (std::count_if(entries_.begin(), entries_.end(), is_theirs) >= static_cast<std::ptrdiff_t>(kMostOfOne)) {
    entries_.erase(std::find_if(entries_.begin(), entries_.end(), is_theirs));
  } else if (entries_.size() >= kMostInAll) {
    entries_.pop_front();
  }
  if (UniqueFd copy = CopyOf(connection); copy.valid()) entries_.push_back({uid, std::move(copy)});
}

UniqueFd CallerConnections::Of(uint32_t uid) {
  DropClosed();
  auto newest =
      std::find_if(entries_.rbegin(), entries_.rend(), [uid](const Entry& entry) { return entry.uid == uid; });
  return newest == entries_.rend() ? UniqueFd() : CopyOf(newest->connection.get());
}

}  // namespace kprof
