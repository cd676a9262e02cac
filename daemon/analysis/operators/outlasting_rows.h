// The rows of a segment that last beyond the time at which its last row begins: what of it may reach into later ones.
// Few, as those that are open at one time are few. So what reaches into a narrow window is found without a pass over
// all that was before it.
//
// On the reader's thread. Costs a pass over times and durations once, then it is kept in the reader's cache.
#pragma once

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// In order. REQUIRES: the kind has durations.
Result<DecodedColumn> ReadOutlasting(PartReader& reader, const Segment& segment);

}  // namespace kprof
