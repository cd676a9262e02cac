// Pairs of slices of a part with the same correlation: a launch on a thread and the work that it started on a stream.
// Each slice of `from` is paired with each of `to` (a graph's launch has the correlation of hundreds of kernels), none
// with itself.
//
// The pairs are found by merging: the slices of a segment, sorted by correlation, are merged with those of each segment
// whose correlations lie in the same range. The slices of a pair are close in time, so that is a segment or two,
// however long the trace is. Pairs come in windows: segment by segment of `to`, within those segment by segment of
// `from`, then by correlation and row.
//
// On the reader's thread. Memory, which `take_memory` is asked for: 16 bytes for each slice of `to` in one segment, and
// for each slice of `from` in the segments used last, up to 16 MiB or one segment; the window is its caller's. If
// correlations are in no order of time, each segment is merged with each, and segments are read again: that takes long,
// so `stop` is looked at for each. Fails with kStorageBroken, kCancelled, and as take_memory does.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// A slice as a join shows it.
struct JoinedSlice {
  int64_t row = 0;  // of all slices of the part
  int64_t time_ns = 0;
  int64_t duration_ns = 0;  // or kNoValue
  uint32_t track = 0;
  int64_t name = 0;  // a string's number; not checked here
};

struct CorrelatedPair {
  int64_t correlation = 0;
  JoinedSlice from;
  JoinedSlice to;
};

struct CorrelationRequest {
  EventFilter from;
  EventFilter to;
  TakeMemory take_memory{};
};

class CorrelatedSlices {
 public:
  // `from` and `to` are the same part, each with its own choice of tracks. Readers must outlive it.
  static Result<std::unique_ptr<CorrelatedSlices>> Make(const TracePart& from, const TracePart& to,
                                                        const CorrelationRequest& request);
  CorrelatedSlices(const CorrelatedSlices&) = delete;
  CorrelatedSlices& operator=(const CorrelatedSlices&) = delete;

  // Fills `window` with the next pairs, at most `most`; none: there are no more.
  Status Next(size_t most, const StopSignal& stop, std::vector<CorrelatedPair>& window);

 private:
  // A slice of a segment that has a correlation; sorted by correlation, then by row.
  struct Entry {
    int64_t correlation = 0;
    uint32_t row = 0;
  };
  using Entries = std::vector<Entry>;
  // A segment with slices of `from`, and the range of their correlations.
  struct FromSegment {
    const Segment* segment = nullptr;
    int64_t least = 0;
    int64_t most = 0;
  };
  struct Side {
    Side(const Segment& of, const TakeMemory& take_memory) : segment(&of), charge(take_memory) {}
    const Segment* segment;
    MemoryCharge charge;
    Entries entries;
  };
  // The columns of a segment that pairs show.
  struct Columns {
    DecodedColumn times;
    DecodedColumn durations;
    DecodedColumn names;
    std::optional<TrackRuns> runs;
  };

  CorrelatedSlices(PartReader& reader, PartFilter from, PartFilter to, TakeMemory take_memory)
      : reader_(reader),
        from_filter_(std::move(from)),
        to_filter_(std::move(to)),
        take_memory_(std::move(take_memory)) {}
  Status Collect(const PartFilter& filter, Side& side);
  Status FindFrom(const StopSignal& stop);
  // Goes on to the next two segments that may have pairs; false: there are none.
  Result<bool> NextSegments(const StopSignal& stop);
  Result<bool> NextOfTo(const StopSignal& stop);
  Status TakeSide(const Segment& segment);
  void Hold(std::unique_ptr<Side> side);
  Result<Columns> ReadColumns(const Segment& segment);
  static JoinedSlice SliceOf(const Segment& segment, const Columns& columns, uint32_t row);
  void Merge(size_t most, std::vector<CorrelatedPair>& window);

  PartReader& reader_;
  const PartFilter from_filter_;
  const PartFilter to_filter_;
  const TakeMemory take_memory_;

  bool is_begun_ = false;
  std::vector<FromSegment> from_;
  std::list<std::unique_ptr<Side>> held_;  // of `from`; the one in use first
  int64_t held_bytes_ = 0;

  // The place of the merge: a segment of `to` and one of `from`, and in both the entries that come next.
  size_t to_segment_ = 0;  // the next of all
  std::unique_ptr<Side> to_;
  Columns to_columns_;
  size_t from_segment_ = 0;  // the next of from_
  Columns from_columns_;
  bool is_merging_ = false;
  size_t to_at_ = 0;
  size_t from_at_ = 0;    // the first that is not before it
  size_t from_next_ = 0;  // of those with its correlation
};

}  // namespace kprof
