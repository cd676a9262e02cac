// Reads all slices of a part, each track in the order of time, for code that must know the slices before. Segments that
// overlap in time are a group, read together and brought into order; most groups are one segment.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

struct TimedSlice {
  int64_t track = 0;
  int64_t time_ns = 0;
  int64_t duration_ns = 0;  // kNoValue: its end is not known
  int64_t depth = 0;        // or kNoValue
  int64_t row = 0;
};

// The groups of a part, in the order of time. The segments of a group are in the order of their first times.
std::vector<std::vector<const Segment*>> SegmentGroupsOf(const OpenPart& part);

// A group of more rows is left out: they would all be in memory together.
constexpr size_t kMostGroupRows = 4 << 20;

// Reads one group: track by track, each in the order of time, slices of one time the longest first.
Status ReadGroupInTime(OpenPart& part, std::span<const Segment* const> group,
                       const std::function<void(const TimedSlice&)>& see);

}  // namespace kprof
