// The self time of slices: their durations less the time that slices directly within them cover. A slice is within its
// parent by its depth (docs/trace_format.md). Two slices within one parent that cross cover their common time once.
//
// On the readers' thread. Costs a pass over times, durations, depths and keys, from the first segment that the filter
// may match to the last that may lie within a match. Memory: the slices that are open, and a number for each row of
// segments that overlap in time. Fails as aggregate.h does.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/row_groups.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct SelfTimeRequest {
  EventFilter filter;  // the slices whose self time is asked for; any slices within them count
  std::vector<GroupBy> by;
  size_t top = SIZE_MAX;
  size_t most_groups = 1 << 20;
  TakeMemory take_memory{};  // for groups' keys, as they grow
};

struct SelfTime {
  GroupKey key;
  int64_t count = 0;  // of slices whose end is known
  int64_t sum_ns = 0;
  int64_t self_ns = 0;
};

// Groups with the most self time come first.
Result<std::vector<SelfTime>> FindSelfTimes(TraceParts parts, const SelfTimeRequest& request, const StopSignal& stop);

}  // namespace kprof
