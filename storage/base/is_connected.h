// Whether the other side of a connection has neither hung up nor said that it sends no more. Any thread.
#pragma once

#include <poll.h>

namespace kprof {

inline bool IsConnected(int connection) {
  pollfd state{connection, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) >= 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) == 0;
}

}  // namespace kprof
