#include "daemon/base/clock.h"

#include <ctime>

namespace kprof {
namespace {

int64_t Read(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

}  // namespace

int64_t RealClock::mono_ns() const {
  return Read(CLOCK_MONOTONIC);
}
int64_t RealClock::unix_ns() const {
  return Read(CLOCK_REALTIME);
}

}  // namespace kprof
