// Slices of a part with the same correlation, two by two: a launch on a thread and what it started on a stream. Each of
// `from` with each of `to` (a graph's launch has the correlation of hundreds of kernels); none with itself.
//
// A merge over columns: of each segment those asked for, in the order of their correlations, with those of each segment
// that has some between them. What belongs together is close in time, so that is a segment or two, however long the
// trace is. Pairs come in windows, segment by segment of `to`, within those segment by segment of `from`, then by
// correlations and rows.
//
// On the reader's thread. Memory, which `take_memory` is asked for: 16 bytes for each slice of `to` in one segment, and
// for each of `from` in those segments that were asked last, up to 16 MiB or one segment; the window is its caller's.
// Where correlations lie anyhow in time, each segment is merged with each, and sides are read again: that takes long,
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
  int64_t name = 0;  // a string's number; checked by who reads it
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
  // `from` and `to` are the same part, each with the tracks that it is asked of. Readers must outlive it.
  static Result<std::unique_ptr<CorrelatedSlices>> Make(const TracePart& from, const TracePart& to,
                                                        const CorrelationRequest& request);
  CorrelatedSlices(const CorrelatedSlices&) = delete;
  CorrelatedSlices& operator=(const CorrelatedSlices&) = delete;

  // The next ones, at most `most`; none: there are no more. `window` is cleared.
  Status Next(size_t most, const StopSignal& stop, std::vector<CorrelatedPair>& window);

 private:
  // Of a segment's slices with a correlation, in their order, and of one correlation by row.
  struct Entry {
    int64_t correlation = 0;
    uint32_t row = 0;
  };
  using Entries = std::vector<Entry>;
  // A segment that has some of `from`, and between what their correlations are.
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
  // What is shown of a segment's rows.
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

  // Where it is: a segment of `to` and one of `from`, and in both the entries that come next.
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
