// The distribution of the durations of slices: how many, and how much time, in each bucket.
//
// On the readers' thread. Costs a pass over the columns that the filter needs, and over the durations. Fails as reading
// parts does, with kUsage for impossible buckets, kCancelled.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct HistogramRequest {
  EventFilter filter;
  // 0: each bucket is twice as wide as the one before: [0, 1), [1, 2), [2, 4), [4, 8)... Else all are as wide as this,
  // from `first_ns` on; durations before the first or behind the last one are counted in that one.
  int64_t width_ns = 0;
  int64_t first_ns = 0;
  size_t buckets = 64;  // of a width: 1 to 65,536
};

struct HistogramBucket {
  int64_t from_ns = 0;
  int64_t to_ns = 0;  // INT64_MAX for the last one
  int64_t count = 0;
  int64_t sum_ns = 0;  // at most INT64_MAX
};

struct DurationHistogram {
  std::vector<HistogramBucket> buckets;  // up to the last one that has any
  int64_t without_end = 0;               // slices whose end is not known: in no bucket
};

Result<DurationHistogram> CountDurations(TraceParts parts, const HistogramRequest& request, const StopSignal& stop);

}  // namespace kprof
