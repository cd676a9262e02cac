// File descriptors: their owner, the state of a connection, and stand-ins for closed standard input, output and error.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace kprof {

// Owns one file descriptor and closes it. Moves, never copies.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.fd_, -1));
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { Reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

// True if the other side of a connection has neither hung up nor ended its sending. Any thread.
inline bool IsConnected(int connection) {
  pollfd state{connection, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) >= 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) == 0;
}

// Opens /dev/null in place of each of standard input, output and error that our caller has closed (`kprofctl runs >&-`,
// `kprofd 2>&-`). Else the next file or socket gets the number, and with it the bytes meant for, say, standard output.
// /dev/null is opened the wrong way round, so reading from it or writing to it still fails.
//
// Call it before anything is opened, and so before C++ is ready: makes only system calls. Returns false, with a message
// on standard error, where there is no /dev/null.
bool OccupyClosedDescriptors();

}  // namespace kprof
