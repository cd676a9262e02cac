// Which levels of detail are worth their rows of slices that are all there: by what lies in some stretches of time, one
// about each 262,144 slices, so that none that is longer and denser than the rest goes unseen.
//
// Memory: the slices of a stretch. Fails as reading does, and with kCancelled when told to stop.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "storage/base/status.h"
#include "storage/db.h"
#include "storage/trace/slice_segment.h"

namespace kprof {

// `segments` in the order of their first times. The finest level first.
Result<std::vector<int>> ChooseLevels(Db& db, std::span<const SliceSegment> segments, const std::stop_token& stop);

}  // namespace kprof
