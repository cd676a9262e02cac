// The flows of a part for a query: the slice that each flow point touches (FlowSlices), and the pairs of points that
// lead on from one to the next (FlowPairs). The rules are flow_rules.h.
//
// One thread. Made for a whole part at once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

// The slice that each flow point of a part touches: as the part says, else found by the rule of flow_rules.h, along the
// time of the whole part.
//
// Memory, which it asks the query's budget for before it takes it: 4 bytes for each point. While it is made, also the
// points and slices in the time of a few segments, and points that wait for a slice to begin.
class FlowSlices {
 public:
  static constexpr int64_t kMostPoints = 8 << 20;

  // Once is enough. kUsage for a part with more than kMostPoints, and for too much memory.
  Status Make(OpenPart& part);
  // The row of the slice that a point touches, or kNoValue; the point is given by its row. REQUIRES: Make has
  // succeeded.
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

// The flows of a part as pairs of points, each from one to the next.
//
// Memory, which it asks the query's budget for before it takes it: 32 bytes for each point, of which 12 stay.
class FlowPairs {
 public:
  // Rows of flow points. There is a pair for each point that leads on to another.
  struct Pair {
    int64_t from = kNoValue;
    int64_t to = kNoValue;
  };

  // The number of pairs. Found out once for a part and kept beside its columns, for the next queries, too. Needs no
  // slices. Fails as Make does.
  Result<int64_t> Count(OpenPart& part);
  // Once is enough; call it before the rest. Fails as FlowSlices::Make does.
  Status Make(OpenPart& part);
  // The first pair that begins at `point` or a later one; its `from` is kNoValue when there is none.
  Pair NextFrom(int64_t point) const;
  int64_t SliceOf(int64_t point) const { return slices_.Of(point); }
  // The pairs from, or to, that slice, in the order of their first points.
  Result<std::vector<Pair>> FindFrom(OpenPart& part, int64_t slice) { return Find(part, by_from_, &Pair::from, slice); }
  Result<std::vector<Pair>> FindTo(OpenPart& part, int64_t slice) { return Find(part, by_to_, &Pair::to, slice); }

  // For callers that need only the slices.
  FlowSlices& slices() { return slices_; }

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  // The first points of all pairs, by the slice at one of the pair's ends.
  struct Index {
    std::optional<MemoryCharge> memory;
    std::vector<uint32_t> points;
    bool is_made = false;
  };
  Pair PairFrom(int64_t point) const { return {point, int64_t{next_[static_cast<size_t>(point)]}}; }
  Result<std::vector<Pair>> Find(OpenPart& part, Index& index, int64_t Pair::*end, int64_t slice);

  Status MakePairs(OpenPart& part);

  bool is_made_ = false;  // next_ and pairs_
  FlowSlices slices_;
  std::optional<MemoryCharge> memory_;  // of next_
  std::vector<uint32_t> next_;          // by the points' rows: which one each leads on to, or kNone
  size_t pairs_ = 0;
  Index by_from_;
  Index by_to_;
};

}  // namespace kprof
