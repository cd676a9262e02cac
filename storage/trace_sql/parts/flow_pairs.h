// Flows of a part as pairs of points, from one to the next. What leads on to what is flow_chains.h; which
// slice a point touches is flow_slices.h.
//
// One thread. Made for a whole part at once. Memory, which it asks the query's terms for before it takes it: 32 bytes
// for each point, of which 12 stay.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/flow_slices.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

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
