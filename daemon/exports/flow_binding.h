// Which slice each point of a flow touches: the innermost one of its track that has begun and not ended at its time.
//
// One thread. Memory: the points in the time of one segment of slices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/exports/segment_rows.h"
#include "storage/base/status.h"
#include "storage/trace/part_reader.h"

namespace kprof {

struct FlowPoint {
  int64_t time_ns = 0;
  uint32_t track = 0;
  int64_t id = 0;  // strings' numbers, all three together tell flows apart
  int64_t name = 0;
  int64_t category = 0;
  bool is_last = false;  // an end (ph f)
};

struct BoundFlows {
  struct Bound {
    size_t row = 0;
    FlowPoint point;
  };
  std::vector<Bound> bound;        // in the order of the rows
  std::vector<FlowPoint> unbound;  // that touch no slice of these
};

// The points between two times.
Result<std::vector<FlowPoint>> FlowPointsIn(PartReader& part, int64_t from_ns, int64_t to_ns);

// To rows of a segment of slices.
BoundFlows BindFlows(std::vector<FlowPoint> points, const SegmentRows& slices);

}  // namespace kprof
