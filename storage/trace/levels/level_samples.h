// Which levels of detail are worth their rows, of slices, instants or samples of counters that are all there: by what
// lies in some stretches of time, one about each 262,144 of them, so that none that is longer and denser than the rest
// goes unseen. Where their source had no order, they are fewer stretches: each of all rows is read some times at most.
//
// Memory: some 100,000 events of a stretch. Fails as reading does, and with kCancelled when told to stop.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/levels/written_segment.h"

namespace kprof {

// `segments`, of one kind, in the order of their first times. The finest level first.
Result<std::vector<int>> ChooseLevels(Db& db, std::span<const WrittenSegment> segments, const std::stop_token& stop);

}  // namespace kprof
