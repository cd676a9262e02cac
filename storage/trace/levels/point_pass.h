// Makes the levels of detail of a part's instants (lane_levels.h) and of its counters (counter_levels.h), once all of
// them are there. Samples of all of them tell which levels are worth their rows (level_choice.h). Then they are read
// once more, segment by segment.
//
// On the caller's thread, as is `write`. Memory: that of the samples, then some columns of a segment, the open rows of
// each level, and up to a segment's rows of each.
//
// Fails with kBadInput when an event is not between the times that its segment says (seen only when levels are made),
// with kCancelled when told to stop, and as reading and `write` do.
#pragma once

#include <functional>
#include <span>
#include <stop_token>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/levels/level_choice.h"
#include "storage/trace/write/segment_maker.h"

namespace kprof {

Status MakeInstantLevels(Db& db, std::span<const WrittenSegment> instants,
                         const std::function<Status(const EncodedSegment&)>& write, const std::stop_token& stop);

Status MakeCounterLevels(Db& db, std::span<const WrittenSegment> samples,
                         const std::function<Status(const EncodedSegment&)>& write, const std::stop_token& stop);

}  // namespace kprof
