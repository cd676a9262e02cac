// Times of events: between which they are, so that a sum or a difference of two has a place in 64 bits, and where an
// event ends, whatever its source says.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kprof {

// The order in which rows of a segment stand: slices of time, so that a narrow window of a trace touches few segments;
// within one, track by track, each in the order of its times, and of those that begin together the longest first. So
// who is within whom on a track is seen in one pass, and what is alike stands side by side.
//
// Pure; any thread.

// The numbers of the rows in the order of their times, and of those of one time the longest first; rows that are alike
// in both stay in theirs. `durations` may be empty: all are the same.
std::vector<uint32_t> OrderByTime(std::span<const int64_t> times, std::span<const int64_t> durations);

// Brings rows together by their tracks; those of one track stay in the order that they have.
void OrderByTrack(std::span<uint32_t> rows, std::span<const int64_t> tracks);

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
