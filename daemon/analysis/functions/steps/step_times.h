// The time of each step by what it went to: work of the devices, by kernel, and calls on the steps' own thread.
//
// On the reader's thread. Memory, which `charge` is asked for: 24 bytes for each slice of the devices, and about 64 for
// each name of a kernel in a step.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/functions/steps/step_ranges.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct StepShare {
  int64_t ns = 0;
  int64_t count = 0;
};
using StepShares = std::unordered_map<int64_t, StepShare>;  // by a string's number

struct StepTimes {
  int64_t busy_ns = 0;                                       // a device worked
  int64_t busy_to_ns = std::numeric_limits<int64_t>::min();  // while they are read
  int64_t kernels = 0;                                       // also those of which a part is in it
  StepShares of_kernels;
  StepShares of_host;  // without what is within other calls
};

// Adds the work that `filter` selects to the steps in whose time it ran. REQUIRES: there are steps, in the order of
// time, and `times` for each of them. Fails as reading and `charge` do.
Status AddDeviceTimes(const TracePart& part, EventFilter filter, const std::vector<StepRange>& steps,
                      const StopSignal& stop, MemoryCharge& charge, std::vector<StepTimes>& times);

// Adds the self times of calls on the steps' own thread, by the step in which they begin, to the steps that are asked.
// REQUIRES: as above. Fails as reading does.
Status AddHostTimes(const TracePart& part, const std::vector<StepRange>& steps, const std::vector<uint8_t>& is_asked,
                    const StopSignal& stop, std::vector<StepTimes>& times);

}  // namespace kprof
