// Times and durations of rows as they may be calculated with: what stands in a part's columns is anybody's number.
//
// Pure; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kprof {

// The difference of two of them has a place in 64 bits.
constexpr int64_t kLastTimeNs = (int64_t{1} << 62) - 1;
constexpr int64_t kFirstTimeNs = -kLastTimeNs;

constexpr int64_t SafeTime(int64_t time_ns) {
  return std::clamp(time_ns, kFirstTimeNs, kLastTimeNs);
}

// A negative duration is nobody's: it is one that is not known, as kNoValue is.
constexpr bool IsKnown(int64_t duration_ns) {
  return duration_ns >= 0;
}

// REQUIRES: a SafeTime. What has no end ends where it begins.
constexpr int64_t EndOf(int64_t time_ns, int64_t duration_ns) {
  return !IsKnown(duration_ns) ? time_ns : time_ns + std::min(duration_ns, kLastTimeNs - std::max<int64_t>(time_ns, 0));
}

// As much as there is a place for. REQUIRES: neither is negative.
constexpr int64_t SaturatingSum(int64_t a, int64_t b) {
  return b > INT64_MAX - a ? INT64_MAX : a + b;
}

}  // namespace kprof
