// Flows of a part as pairs of slices, from one to the next. What leads on to what is storage/trace/flow_chains.h; which
// slice a point touches, where the part does not say it, flow_binder.h beside it.
//
// One thread. Made for a whole part at once: that takes about 128 bytes for each point, of which about 50 stay, which
// it asks the query's terms for before it takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/open_part.h"

namespace kprof {

struct FlowPair {
  int64_t from_point = 0;  // rows of flow points
  int64_t to_point = 0;
  int64_t from_slice = kNoValue;  // rows of slices, or kNoValue
  int64_t to_slice = kNoValue;
  int64_t name = 0;  // strings' numbers
  int64_t category = 0;
  int64_t flow_id = 0;
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

class FlowPairs {
 public:
  // In the order of their first points. More points than kMostFlowPoints in a part are kUsage, as
  // is too much memory.
  Result<std::span<const FlowPair>> Read(OpenPart& part);
  // The slice that a point touches, by its row, or kNoValue. Fails as Read does.
  Result<int64_t> SliceOf(OpenPart& part, int64_t point);
  // Those from, or to, one of these slices, by their places in Read's.
  std::vector<size_t> FindFrom(int64_t slice) const { return Find(by_from_, &FlowPair::from_slice, slice); }
  std::vector<size_t> FindTo(int64_t slice) const { return Find(by_to_, &FlowPair::to_slice, slice); }

 private:
  std::vector<size_t> Find(const std::vector<uint32_t>& order, int64_t FlowPair::*slice, int64_t wanted) const;

  bool is_made_ = false;
  std::optional<MemoryCharge> kept_memory_;  // of what follows
  std::vector<FlowPair> pairs_;
  std::vector<int64_t> slice_of_;  // by the points' rows
  std::vector<uint32_t> by_from_;
  std::vector<uint32_t> by_to_;
};

constexpr int64_t kMostFlowPoints = 8 << 20;

}  // namespace kprof
