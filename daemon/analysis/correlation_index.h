// Which slices have a correlation: of each segment the correlations that it has, in their order, so that one is found
// without a pass over all rows. Made when a segment is first asked, and kept in the reader's cache: 16 bytes for each
// slice that has one.
//
// On the readers' thread. Fails with kStorageBroken, kCancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/analysis/event_filter.h"
#include "daemon/analysis/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

// Rows of all slices of the part, in order; at most `most`.
Result<std::vector<int64_t>> FindCorrelated(PartReader& reader, int64_t correlation, size_t most,
                                            const StopSignal& stop);

// A slice as a join shows it.
struct JoinedSlice {
  int64_t row = 0;
  int64_t time_ns = 0;
  int64_t duration_ns = 0;  // or kNoValue
  uint32_t track = 0;
  int64_t name = 0;  // a string's number; checked by who reads it
};

struct CorrelatedPair {
  int64_t correlation = 0;
  JoinedSlice from;
  JoinedSlice to;
};

// Each slice of `from` with each of `to` that has the same correlation in the same part, as a launch on a thread
// (`track_kinds` cpu_thread) and what it started (gpu_stream); in the order of correlations and rows. What is seen by
// both filters is not joined with itself. Memory: 48 bytes for each slice of either that has a correlation; more than
// `most_slices` fail with kUsage. `see` returns false when it has seen enough.
struct CorrelationRequest {
  EventFilter from;
  EventFilter to;
  size_t most_slices = 4 << 20;
};
Status JoinCorrelated(const TracePart& part, const CorrelationRequest& request, const StopSignal& stop,
                      const std::function<bool(const CorrelatedPair&)>& see);

}  // namespace kprof
