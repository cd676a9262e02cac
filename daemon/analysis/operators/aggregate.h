// Count, sum, least, most, mean and percentiles of the durations of events, by any keys, over all parts asked: groups
// of different parts with the same key are one.
//
// On the readers' thread. Costs a pass over the columns that filter and keys need, and over the durations; of stretches
// of slices that are asked for whole, and of which the part has totals (aggregate.h), over those instead: then
// only the stretches at the edges of a time asked for are decoded. With percentiles one pass over all more for each
// `most_values` of them. Fails with kStorageBroken where a part is, kUsage where
// there are too many groups, as take_memory does, kCancelled.
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

// The stretches of a part's slices of which there are totals (slice_totals.h): a question that asks for
// all slices of one asks its totals instead, which are rows of a segment with tracks, names and categories like the
// slices themselves.
//
// On the reader's thread. Costs a look at the totals' rows once, then what is known of them is kept in the reader's
// cache. Fails with kStorageBroken where totals are not those of whole segments of slices.
struct SlicesWithTotals {
  const Segment* totals = nullptr;  // of the reader's; it says the times of all the slices
  size_t first = 0;                 // of the part's segments of slices, from `first` to before `end`
  size_t end = 0;
};

// In the order of their slices; no two have the same ones.
Result<std::vector<SlicesWithTotals>> FindSlicesWithTotals(PartReader& reader);

enum class Measure : uint8_t { kCount, kSum, kMin, kMax, kMean, kPercentile };

struct AggregateRequest {
  EventFilter filter;
  EventKind kind = EventKind::kSlice;
  std::vector<GroupBy> by;          // none: one group of all
  bool durations = true;            // false: nothing but counts is asked for
  std::vector<double> percentiles;  // each from 0 to 100: percentiles.h
  // The groups with most of it come first, and of them no more than `top`.
  Measure order = Measure::kSum;
  size_t order_percentile = 0;  // of kPercentile: which of `percentiles`
  size_t top = SIZE_MAX;
  size_t most_groups = 1 << 20;  // in each part, and in all
  size_t most_values = 8 << 20;  // 64 MiB
  TakeMemory take_memory{};      // for groups and their keys, as they grow
};

struct Aggregate {
  GroupKey key;  // in the order of `by`
  int64_t count = 0;
  int64_t ended = 0;   // of them, those whose end is known: of these is all that follows
  int64_t sum_ns = 0;  // at most INT64_MAX, which it is for all larger ones
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  std::vector<int64_t> percentiles_ns;  // none where `ended` is 0

  // The sum is what they are together, and so the mean theirs.
  bool is_whole() const { return sum_ns < INT64_MAX; }
  double mean_ns() const { return ended == 0 ? 0 : static_cast<double>(sum_ns) / static_cast<double>(ended); }
};

// By `order`, those that are alike in it by their keys. Without keys, one group, also of nothing.
Result<std::vector<Aggregate>> AggregateEvents(TraceParts parts, const AggregateRequest& request,
                                               const StopSignal& stop);

}  // namespace kprof
