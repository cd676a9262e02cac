// The door to time. Two clocks: mono for waits and durations, unix for what is stored and shown.
// Any thread.
#pragma once

#include <cstdint>

namespace kprof {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t mono_ns() const = 0;  // CLOCK_MONOTONIC
  virtual int64_t unix_ns() const = 0;  // CLOCK_REALTIME; may jump
};

class RealClock final : public Clock {
 public:
  int64_t mono_ns() const override;
  int64_t unix_ns() const override;
};

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

}  // namespace kprof
