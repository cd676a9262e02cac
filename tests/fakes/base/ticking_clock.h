// Lets a FakeClock go on, from a thread of its own, while this lives: for a call that blocks until time has passed.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "tests/fakes/base/fake_clock.h"

namespace kprof {

class TickingClock {
 public:
  TickingClock(FakeClock& clock, int64_t step_ms, std::chrono::microseconds every = std::chrono::milliseconds(1))
      : thread_([&clock, step_ms, every](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            clock.Advance(step_ms * kNanosPerMilli);
            std::this_thread::sleep_for(every);
          }
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace kprof
