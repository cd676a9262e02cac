// Which slice each flow point of a part touches: what the part says, else found out as flow_rules.h has
// it, along the time of the whole part.
//
// One thread. Memory, which it asks the query's terms for before it takes it: 4 bytes for each point, and while it is
// made what lies in the time of a few segments, or waits for a slice to begin.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"

namespace kprof {

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

}  // namespace kprof
