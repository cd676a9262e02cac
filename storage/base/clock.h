// The door to time. Two clocks: mono for waits and durations, unix for stored and shown times. Also the id of this
// boot.
// Any thread.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "storage/base/files.h"
#include "storage/base/status.h"

namespace kprof {

// The kernel's id of this boot; no other boot has it. By it notes about processes of an earlier boot are known to be
// out of date. Fails where /proc/sys does not tell.
Result<std::string> ReadBootId(Files& files);

class Clock {
 public:
  virtual ~Clock() = default;
  virtual int64_t mono_ns() const = 0;  // CLOCK_MONOTONIC
  virtual int64_t unix_ns() const = 0;  // CLOCK_REALTIME; may jump
};

// For code that cannot be given a Clock: the supervisor, and code between fork and exec. Async-signal-safe.
int64_t ReadClockNs(clockid_t id);

class RealClock final : public Clock {
 public:
  int64_t mono_ns() const override;
  int64_t unix_ns() const override;
};

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

}  // namespace kprof
