// Makes the facts of a part's slices that need all of them: their depths, which are written beside their other columns,
// and their levels of detail. Goes once through all slices in the order of time, whatever order their source had:
// segments that overlap are read together, track by track.
//
// The Db and `write` are used on the caller's thread alone. Another thread nests the rows that were read, and has half
// of the levels made beside it, while this one reads on and writes nested rows. If no thread can be started, this one
// does it all.
//
// Memory: the rows of some tracks. Tracks are taken together up to `rows_at_once`, counting all that are under way, and
// each such group reads again the segments that have rows of it. A track that alone has more than `rows_of_track` in
// segments that all overlap gets no depths there, and is not in the levels. For segments that overlap, 2 bytes are held
// for each row, and a SlicePiece for each track in each segment. This is little when the source was about in the order
// of time; it grows with the number of slices when it had no order at all.
//
// Fails with kBadInput when a slice is not between the times that its segment says, with kCancelled when told to stop,
// and as `write` does.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/levels/detail_levels.h"
#include "storage/trace/levels/level_choice.h"

namespace kprof {

struct SlicePassLimits {
  size_t rows_at_once = size_t{2} << 20;
  size_t rows_of_track = size_t{4} << 20;
};

struct MadeDepths {
  int64_t without = 0;  // slices that got none
  int64_t crowded = 0;  // SliceNesting::crowded
};

Result<MadeDepths> MakeDepthsAndLevels(Db& db, std::span<const WrittenSegment> segments,
                                       const DetailLevels::Write& write, const std::stop_token& stop,
                                       const SlicePassLimits& limits = {});

}  // namespace kprof
