// The steps of a training loop as PyTorch's profiler marks them: slices called ProfilerStep#N.
//
// On the reader's thread. Costs a look at the part's strings, and a pass over the names of segments that may have one.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/stop_signal.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct ProfilerStep {
  int64_t number = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known
};

// By their numbers. A step of which there are several slices (of threads; of a device, which lags) is one: that of the
// host, where there is one, from the first begin to the last end.
Result<std::vector<ProfilerStep>> FindProfilerSteps(const TracePart& part, const StopSignal& stop);

}  // namespace kprof
