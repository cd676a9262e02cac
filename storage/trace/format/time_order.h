// The order in which rows of a segment stand: slices of time, so that a narrow window of a trace touches few segments;
// within one, track by track, each in the order of its times, and of those that begin together the longest first. So
// who is within whom on a track is seen in one pass, and what is alike stands side by side.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kprof {

// The numbers of the rows in the order of their times, and of those of one time the longest first; rows that are alike
// in both stay in theirs. `durations` may be empty: all are the same.
std::vector<uint32_t> OrderByTime(std::span<const int64_t> times, std::span<const int64_t> durations);

// Brings rows together by their tracks; those of one track stay in the order that they have.
void OrderByTrack(std::span<uint32_t> rows, std::span<const int64_t> tracks);

}  // namespace kprof
