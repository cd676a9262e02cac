// The slices of a part, track by track in the order of time, whatever order its source had: segments that overlap in
// time are put together. What goes along the nesting of slices is made of it.
//
// On the reader's thread. Where segments do not overlap, columns are seen as they stand in the cache; where they do,
// they are copied, up to about `kRowsAtOnce` rows together. A track with more than `kMostRowsOfTrack` in segments that
// overlap comes segment by segment: its slices have no depths either.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/read/segment_clusters.h"

namespace kprof {

// Slices of one track, in order: by time, and of one time the longest first.
struct SliceRun {
  uint32_t track = 0;
  size_t size = 0;
  std::span<const int64_t> times;
  std::span<const int64_t> durations;
  std::span<const int64_t> depths;
  // Where each stands: a segment of the cluster, and a row of it; empty where they are those from `first` on of its
  // only one.
  std::span<const uint64_t> places;
  size_t segment = 0;
  uint32_t first = 0;

  size_t SegmentOf(size_t i) const { return places.empty() ? segment : static_cast<size_t>(places[i] >> 32); }
  uint32_t RowOf(size_t i) const {
    return places.empty() ? first + static_cast<uint32_t>(i) : static_cast<uint32_t>(places[i]);
  }
};

constexpr size_t kRowsAtOnce = size_t{4} << 20;
constexpr size_t kMostRowsOfTrack = size_t{8} << 20;

// Each track of a cluster once (unless a hostile part has it in pieces).
Status ForEachSliceRun(PartReader& reader, const SegmentCluster& cluster, const StopSignal& stop,
                       const std::function<Status(const SliceRun&)>& see);

}  // namespace kprof
