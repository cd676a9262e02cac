// Goes through the slices of a part track by track, in the order of time: whoever asks which slice lies within which,
// by their depths, needs no more than a stack for each track.
//
// On the reader's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

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

// Goes through the slices of a cluster, track by track in the order of time, whatever order its source had: a cluster
// is segments that overlap in time, which are put together. Each track comes once (unless a hostile part has it in
// pieces).
//
// If segments do not overlap, columns are seen as they stand in the cache; if they do, they are
// copied, up to about 4 M rows together. A track with more than 8 M slices in segments that overlap
// comes segment by segment: its slices have no depths either.
Status ForEachSliceRun(PartReader& reader, const SegmentCluster& cluster, const StopSignal& stop,
                       const std::function<Status(const SliceRun&)>& see);

}  // namespace kprof
