// What is known of a part's slices only when all of them are there: their depths, which are written beside their other
// columns, and their levels of detail. Goes once through all of them in the order of time, whatever order their source
// had: segments that overlap are read together, track by track.
//
// On the thread of the Db. Memory is bounded: tracks are taken together up to `rows_at_once`; a track that alone has
// more in segments that all overlap gets no depths there, and is not in the levels.
//
// Fails with kBadInput where a slice is not between the times that its segment says, with kCancelled when told to stop.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "storage/base/status.h"
#include "storage/db.h"
#include "storage/trace/detail_levels.h"

namespace kprof {

struct SliceSegment {
  int64_t id = 0;
  uint32_t rows = 0;
  int64_t min_time_ns = 0;
  int64_t max_time_ns = 0;
};

struct SlicePassLimits {
  size_t rows_at_once = size_t{2} << 20;
  size_t rows_of_track = size_t{4} << 20;
};

struct MadeDepths {
  int64_t without = 0;  // slices that got none
  int64_t crowded = 0;  // SliceNesting::crowded
};

Result<MadeDepths> MakeDepths(Db& db, std::span<const SliceSegment> segments, DetailLevels& levels,
                              const std::stop_token& stop, const SlicePassLimits& limits = {});

}  // namespace kprof
