// Flows of a part as pairs of points, from one to the next. What leads on to what is flow_rules.h; which
// slice a point touches is flow_pairs.h.
//
// One thread. Made for a whole part at once. Memory, which it asks the query's terms for before it takes it: 32 bytes
// for each point, of which 12 stay.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

// Which slice each flow point of a part touches: what the part says, else found out as flow_rules.h has
// it, along the time of the whole part.
//
// One thread. Memory, which it asks the query's terms for before it takes it: 4 bytes for each point, and while it is
// made what lies in the time of a few segments, or waits for a slice to begin.
class FlowSlices {
 public:
  static constexpr int64_t kMostPoints = 8 << 20;

  // Once is enough. A part with more than kMostPoints is kUsage, as is too much memory.
  Status Make(OpenPart& part);
  // Of a point, by its row: that of the slice, or kNoValue. REQUIRES: it is made.
  int64_t Of(int64_t point) const {
    const uint32_t slice = slice_of_[static_cast<size_t>(point)];
    return slice == kNone ? kNoValue : int64_t{slice};
  }

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  bool is_made_ = false;
  std::optional<MemoryCharge> memory_;  // of slice_of_
  std::vector<uint32_t> slice_of_;      // by the points' rows
};

class FlowPairs {
 public:
  // Rows of flow points. As many pairs as there are points that lead on to another.
  struct Pair {
    int64_t from = kNoValue;
    int64_t to = kNoValue;
  };

  // Once is enough; what follows needs it. Fails as FlowSlices do.
  Status Make(OpenPart& part);
  // The first pair whose first point is that one or a later one; `from` is kNoValue where there is none.
  Pair NextFrom(int64_t point) const;
  int64_t SliceOf(int64_t point) const { return slices_.Of(point); }
  // The pairs from, or to, that slice, in the order of their first points.
  Result<std::vector<Pair>> FindFrom(OpenPart& part, int64_t slice) { return Find(part, by_from_, &Pair::from, slice); }
  Result<std::vector<Pair>> FindTo(OpenPart& part, int64_t slice) { return Find(part, by_to_, &Pair::to, slice); }

  // For who asks for these alone.
  FlowSlices& slices() { return slices_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  // First points of all pairs, by the slice at one of their ends.
  struct Index {
    std::optional<MemoryCharge> memory;
    std::vector<uint32_t> points;
    bool is_made = false;
  };
  Pair PairFrom(int64_t point) const { return {point, int64_t{next_[static_cast<size_t>(point)]}}; }
  Result<std::vector<Pair>> Find(OpenPart& part, Index& index, int64_t Pair::*end, int64_t slice);

  bool is_made_ = false;
  FlowSlices slices_;
  std::optional<MemoryCharge> memory_;  // of next_
  std::vector<uint32_t> next_;          // by the points' rows: which one each leads on to, or kNone
  size_t pairs_ = 0;
  Index by_from_;
  Index by_to_;
};

}  // namespace kprof
