#include "daemon/process/supervisor/output_to_daemon.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kBlockBytes = 256 << 10;

}  // namespace

// The block's pages cost nothing until a command prints that much.
OutputToDaemon::OutputToDaemon(UniqueFd pipe, UniqueFd socket)
    : pipe_(std::move(pipe)), socket_(std::move(socket)), block_(std::make_unique_for_overwrite<char[]>(kBlockBytes)) {}

pollfd OutputToDaemon::wait() const {
  if (!rest_.empty()) return {socket_.get(), POLLOUT, 0};
  return {pipe_.get(), POLLIN, 0};
}

void OutputToDaemon::Turn() {
  if (rest_.empty()) Read();
  Send();
}

void OutputToDaemon::Close() {
  int present_bytes = 0;
  if (pipe_.valid() && ::ioctl(pipe_.get(), FIONREAD, &present_bytes) != 0) present_bytes = 0;
  last_bytes_ = present_bytes;
  if (last_bytes_ == 0) pipe_.Reset();
}

void OutputToDaemon::Read() {
  if (!pipe_.valid()) return;
  const size_t wanted = last_bytes_ < 0 ? kBlockBytes : std::min(kBlockBytes, static_cast<size_t>(last_bytes_));
  const ssize_t size = ::read(pipe_.get(), block_.get(), wanted);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return pipe_.Reset();
  printed_bytes_ += size;
  rest_ = {block_.get(), static_cast<size_t>(size)};
  if (last_bytes_ < 0) return;
  last_bytes_ -= size;
  if (last_bytes_ == 0) pipe_.Reset();
}

void OutputToDaemon::Send() {
  while (!rest_.empty() && socket_.valid()) {
    const ssize_t sent = ::send(socket_.get(), rest_.data(), rest_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      rest_ = rest_.subspan(static_cast<size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
      return;
    } else if (sent == 0 || errno != EINTR) {
      socket_.Reset();
    }
  }
  dropped_bytes_ += static_cast<int64_t>(rest_.size());
  rest_ = {};
}

}  // namespace kprof
