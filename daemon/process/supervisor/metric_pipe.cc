#include "daemon/process/supervisor/metric_pipe.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "daemon/launch/launch_protocol.h"

namespace kprof {
namespace {

constexpr size_t kPieceBytes = 64 << 10;  // what a pipe holds
constexpr int kLastPieces = 16;

}  // namespace

void MetricPipe::Turn() {
  static_cast<void>(Move());
}

void MetricPipe::Close() {
  for (int piece = 0; piece < kLastPieces && Move(); ++piece) {
  }
  pipe_.Reset();
}

bool MetricPipe::Move() {
  if (!pipe_.valid()) return false;
  char piece[kPieceBytes];
  const ssize_t size = ::read(pipe_.get(), piece, sizeof piece);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size <= 0) {
    pipe_.Reset();
    return false;
  }
  const size_t kept = std::min(static_cast<size_t>(size), kMostMetricTextBytes - text_.size());
  text_.append(piece, kept);
  dropped_bytes_ += size - static_cast<ssize_t>(kept);
  return true;
}

}  // namespace kprof
