// Who is within whom: the parent of each slice, the slices within one, the one that holds a point in time. Nothing of
// it is stored; it follows from order and depths (docs/trace_format.md).
//
// On the reader's thread; kept for as long as its part is asked. The first question about a place goes through the
// times, durations and depths of all before it, once; from then on it knows what is open where each cluster of segments
// begins, and parents are kept in the reader's cache. Memory: those slices, at most `kMostKept` of them (past that,
// questions cost a longer way again). Fails with kStorageBroken, kCancelled; a row that is none with kNotFound.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/ordered_slices.h"
#include "storage/base/status.h"
#include "storage/trace/part_reader.h"

namespace kprof {

class SliceTree {
 public:
  explicit SliceTree(PartReader& reader);

  // Of each row of a segment of slices: the row (of all slices of the part) that is its parent, or kNoValue.
  Result<DecodedColumn> ReadParents(const Segment& segment, const StopSignal& stop);

  // Nothing for one that is in none.
  Result<std::optional<int64_t>> FindParent(int64_t row, const StopSignal& stop);
  // Those directly within it, in the order of their rows; at most `most`. Costs a pass over parents of the track in
  // what the slice lasts.
  Result<std::vector<int64_t>> FindChildren(int64_t row, size_t most, const StopSignal& stop);
  // The one that the time lies in, with its begin and its end; of several the last to begin. One whose end is not known
  // has nothing in it. So flow points are bound, too (storage/trace/flow_binder.h).
  Result<std::optional<int64_t>> FindAt(uint32_t track, int64_t time_ns, const StopSignal& stop);
  // The first to begin at that time or later.
  Result<std::optional<int64_t>> FindNext(uint32_t track, int64_t time_ns, const StopSignal& stop);

 private:
  static constexpr size_t kMostKept = size_t{4} << 20;

  struct Open {
    int64_t depth = 0;
    int64_t end = 0;
    int64_t row = 0;
  };
  using AllOpen = std::unordered_map<uint32_t, std::vector<Open>>;  // by track
  struct Place {
    const Segment* segment = nullptr;
    uint32_t row = 0;  // of it
  };

  Result<Place> PlaceOf(int64_t row) const;
  size_t ClusterOf(const Segment& segment) const;
  Result<AllOpen> OpenAt(size_t cluster, const StopSignal& stop);
  // Goes on from what is open where it begins to what is where it ends; parents by segment of it where they are asked.
  Status Pass(size_t cluster, AllOpen& open, std::vector<std::vector<int64_t>>* parents, const StopSignal& stop);

  PartReader& reader_;
  const std::vector<SegmentCluster> clusters_;
  std::unordered_map<int64_t, size_t> cluster_of_;  // by segment
  std::vector<AllOpen> open_at_;                    // where the first clusters begin
  size_t kept_ = 0;
};

}  // namespace kprof
