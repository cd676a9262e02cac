#include "storage/base/clock.h"

namespace kprof {

int64_t ReadClockNs(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

int64_t RealClock::mono_ns() const {
  return ReadClockNs(CLOCK_MONOTONIC);
}
int64_t RealClock::unix_ns() const {
  return ReadClockNs(CLOCK_REALTIME);
}

}  // namespace kprof
