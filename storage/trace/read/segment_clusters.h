// Segments that overlap in time, put together: whoever goes along the slices of a part in the order of time reads a
// cluster at once.
//
// Pure; any thread.
#pragma once

#include <span>
#include <vector>

#include "storage/trace/read/part_reader.h"

namespace kprof {

// Those that overlap, or one that overlaps none; those that follow begin when it has ended.
using SegmentCluster = std::vector<Segment>;
// In the order of time.
std::vector<SegmentCluster> ClustersOf(std::span<const Segment> segments);

}  // namespace kprof
