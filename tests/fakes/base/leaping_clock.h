// The real clock, and the time that a test leaps over: for deadlines of minutes with real processes, which need real
// time.
#pragma once

#include <atomic>

#include "storage/base/clock.h"

namespace kprof {

class LeapingClock final : public Clock {
 public:
  int64_t mono_ns() const override { return real_.mono_ns() + leapt_ns_; }
  int64_t unix_ns() const override { return real_.unix_ns() + leapt_ns_; }

  // Whoever waits by this clock looks at it again; of an IoLoop that is RunUntilIdle.
  void Leap(int64_t ns) { leapt_ns_ += ns; }

 private:
  RealClock real_;
  std::atomic<int64_t> leapt_ns_{0};
};

}  // namespace kprof
