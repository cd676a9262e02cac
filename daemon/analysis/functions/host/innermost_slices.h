// The innermost slice at a time of a track: who was at work then. Asked in the order of tracks and times, it goes once
// through the slices.
//
// Pure. Memory: the slices that are open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/analysis/operators/slice_columns.h"

namespace kprof {

class InnermostSlices {
 public:
  // REQUIRES: SortByTrack. They must outlive it.
  explicit InnermostSlices(std::span<const PartSlice> slices) : slices_(slices) {}

  struct Stretch {
    const PartSlice* slice = nullptr;  // null: there is none at that time
    int64_t until_ns = 0;              // it stays so until then
  };
  // Where slices cross, it is the one that began last. REQUIRES: (track, time) is not before that of the last call.
  Stretch At(uint32_t track, int64_t time_ns);

 private:
  std::span<const PartSlice> slices_;
  size_t next_ = 0;
  uint32_t track_ = 0;
  std::vector<const PartSlice*> open_;
};

}  // namespace kprof
