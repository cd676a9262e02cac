// Work that waited for an event of another stream. Some traces tell for which (Kineto's cuda_sync slices "Stream Wait
// Event"); for the others the order of the calls tells, and the times of the work. docs/analyses/critical-path.md has
// the rules.
//
// On the reader's thread. Costs a pass over the columns that select those slices, and over their arguments.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "daemon/analysis/functions/dependencies/chosen_work.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct StreamWaits {
  WorkWaits of_work;                          // the first work that is launched on a stream behind the wait
  std::unordered_set<uint32_t> with_unknown;  // work that waited for an event, and nothing tells for which
  int64_t assumed = 0;                        // waits that only order and times tell
  int64_t unknown = 0;
};

// Fails as reading does.
Result<StreamWaits> FindStreamWaits(const TracePart& part, const ChosenWork& chosen, const StopSignal& stop);

}  // namespace kprof
