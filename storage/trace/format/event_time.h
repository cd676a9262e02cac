// Times of events: their bounds, the end of an event, and the order of rows by times and tracks.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kprof {

// The order of rows in segments: segments are slices of time, so a narrow window of a trace touches few of them. Within
// a segment, rows stand track by track, each track in the order of its times, and of rows of one time the longest
// first. So one pass over a track finds which slice lies in which, and similar values stand side by side.
//
// OrderByTime returns the numbers of the rows in the order of their times, of one time the longest first. Rows that are
// alike in both keep their order. `durations` may be empty: all are the same.
std::vector<uint32_t> OrderByTime(std::span<const int64_t> times, std::span<const int64_t> durations);

// Brings rows together by their tracks; rows of one track keep their order.
void OrderByTrack(std::span<uint32_t> rows, std::span<const int64_t> tracks);

// All times and ends in a part are above -kMostTimeNs and below kMostTimeNs, so that a sum or difference of two fits in
// 64 bits.
constexpr int64_t kMostTimeNs = int64_t{1} << 62;

constexpr bool IsEventTime(int64_t time_ns) {
  return time_ns > -kMostTimeNs && time_ns < kMostTimeNs;
}

// The end of an event, for any two numbers. An event ends where it begins if its end is not known (kNoValue) or is
// before its begin. An end above the greatest number is the greatest number.
constexpr int64_t EndOf(int64_t time_ns, int64_t duration_ns) {
  int64_t end_ns = 0;
  if (duration_ns <= 0) return time_ns;
  return __builtin_add_overflow(time_ns, duration_ns, &end_ns) ? std::numeric_limits<int64_t>::max() : end_ns;
}

}  // namespace kprof
