// Count, sum, least, most, mean and percentiles of the durations of events, by any keys, over all parts asked: groups
// of different parts with the same key are one.
//
// On the readers' thread. Costs a pass over the columns that filter and keys need, and over the durations. Slices that
// are asked for whole, and of which the part has totals, cost a pass over the totals instead: then only the slices at
// the edges of a time asked for are decoded. Percentiles cost one more pass for each `most_values` values. Fails with
// kStorageBroken for a broken part, kUsage for too many groups, as take_memory does, kCancelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/row_groups.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// A stretch of a part's slices with totals (slice_totals.h). A question about all slices of the stretch asks the totals
// instead: they are rows of a segment, with tracks, names and categories like the slices themselves.
struct SlicesWithTotals {
  const Segment* totals = nullptr;  // of the reader's; it says the times of all the slices
  size_t first = 0;                 // of the part's segments of slices, from `first` to before `end`
  size_t end = 0;
};

// All stretches with totals, in the order of their slices; no two have the same slices.
//
// On the reader's thread. Costs a look at the totals' rows once; the result is kept in the reader's cache. Fails with
// kStorageBroken for totals that are not those of whole segments of slices.
Result<std::vector<SlicesWithTotals>> FindSlicesWithTotals(PartReader& reader);

enum class Measure : uint8_t { kCount, kSum, kMin, kMax, kMean, kPercentile };

struct AggregateRequest {
  EventFilter filter;
  EventKind kind = EventKind::kSlice;
  std::vector<GroupBy> by;          // none: one group of all
  bool durations = true;            // false: nothing but counts is asked for
  std::vector<double> percentiles;  // each from 0 to 100: percentiles.h
  // Groups with the most of this come first, and no more than `top` are kept.
  Measure order = Measure::kSum;
  size_t order_percentile = 0;  // for kPercentile: an index of `percentiles`
  size_t top = SIZE_MAX;
  size_t most_groups = 1 << 20;  // in each part, and in all
  size_t most_values = 8 << 20;  // 64 MiB
  TakeMemory take_memory{};      // for groups and their keys, as they grow
};

struct Aggregate {
  GroupKey key;  // in the order of `by`
  int64_t count = 0;
  int64_t ended = 0;   // those whose end is known; all below is about these
  int64_t sum_ns = 0;  // INT64_MAX also for larger sums
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  std::vector<int64_t> percentiles_ns;  // none where `ended` is 0

  // True: the sum is exact, and so is the mean.
  bool is_whole() const { return sum_ns < INT64_MAX; }
  double mean_ns() const { return ended == 0 ? 0 : static_cast<double>(sum_ns) / static_cast<double>(ended); }
};

// Sorted by `order`, then by key. Without keys there is one group, even of no events.
Result<std::vector<Aggregate>> AggregateEvents(TraceParts parts, const AggregateRequest& request,
                                               const StopSignal& stop);

}  // namespace kprof
