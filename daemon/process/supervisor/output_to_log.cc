#include "daemon/process/supervisor/output_to_log.h"

#include <unistd.h>

#include <cerrno>
#include <span>

namespace kprof {
namespace {

// One for all: there is one thread. Its pages cost nothing until a command prints that much.
char block[256 << 10];

constexpr int kLastTurns = 64;  // of a block each: many times what a pipe can hold

}  // namespace

bool OutputToLog::Move() {
  if (!pipe_.valid()) return false;
  ssize_t size = ::read(pipe_.get(), block, sizeof block);
  if (size > 0) {
    log_.Write(std::span<const char>(block, static_cast<size_t>(size)));
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  pipe_.Reset();
  return false;
}

void OutputToLog::Close() {
  for (int turn = 0; turn < kLastTurns && Move(); ++turn) {
  }
  pipe_.Reset();
}

}  // namespace kprof
