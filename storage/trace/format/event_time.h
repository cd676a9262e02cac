// Times of events: between which they are, so that a sum or a difference of two has a place in 64 bits, and where an
// event ends, whatever its source says.
#pragma once

#include <cstdint>
#include <limits>

namespace kprof {

// A part has no time, and no end, that is not less than this, nor one that is not more than its negative.
constexpr int64_t kMostTimeNs = int64_t{1} << 62;

constexpr bool IsEventTime(int64_t time_ns) {
  return time_ns > -kMostTimeNs && time_ns < kMostTimeNs;
}

// Of any two numbers. What does not know its end (kNoValue), or has it before its begin, ends where it begins; what
// ends after the last number there is ends there.
constexpr int64_t EndOf(int64_t time_ns, int64_t duration_ns) {
  int64_t end_ns = 0;
  if (duration_ns <= 0) return time_ns;
  return __builtin_add_overflow(time_ns, duration_ns, &end_ns) ? std::numeric_limits<int64_t>::max() : end_ns;
}

}  // namespace kprof
