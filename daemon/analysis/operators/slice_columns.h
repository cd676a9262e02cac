// The columns of slices that a question selected: begin, end, name, track, and the correlation where it is asked for.
// Functions and kinds that look at each slice read them here. One that needs fewer columns gathers them itself
// (GatherValues of row_indexes.h).
//
// On the reader's thread. Costs decoding the columns, as GatherValues does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// The selected slices of one segment, in the order of its rows. One object reads one segment after the other, and keeps
// its memory for the next.
class SliceColumns {
 public:
  // The reader must outlive it.
  explicit SliceColumns(PartReader& reader) : reader_(&reader) {}

  // Replaces what it has by the selected rows. Fails as reading a column does, and with kStorageBroken when a slice is
  // on a track that the part does not have.
  Status Read(const Segment& segment, const RowSelection& selection);
  // The same, and correlations.
  Status ReadWithCorrelations(const Segment& segment, const RowSelection& selection);

  size_t size() const { return times_.size(); }
  // Both are a SafeTime.
  int64_t begin_ns(size_t i) const { return SafeTime(times_[i]); }
  int64_t end_ns(size_t i) const { return SafeEndOf(begin_ns(i), durations_[i]); }  // the begin where it is not known
  bool has_end(size_t i) const { return IsKnown(durations_[i]); }
  int64_t name(size_t i) const { return names_[i]; }  // a string's number, not checked
  uint32_t track(size_t i) const { return static_cast<uint32_t>(tracks_[i]); }
  // kNoValue where it has none. REQUIRES: ReadWithCorrelations.
  int64_t correlation(size_t i) const { return correlations_[i]; }

 private:
  PartReader* reader_;
  std::vector<int64_t> times_;
  std::vector<int64_t> durations_;
  std::vector<int64_t> names_;
  std::vector<int64_t> tracks_;
  std::vector<int64_t> correlations_;
};

// A slice by itself, for those who keep slices of many segments.
struct PartSlice {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known
  int64_t name = 0;    // a string's number, not checked
  int64_t correlation = kNoValue;
  uint32_t track = 0;  // one of the reader's

  int64_t length_ns() const { return end_ns - begin_ns; }
};

// Appends the slices that a filter selects, in the order of the part. Grows `charge` by what they take.
Status ReadSlices(const TracePart& part, const EventFilter& filter, const StopSignal& stop, MemoryCharge& charge,
                  std::vector<PartSlice>& slices);

// Sorted by track, then by begin, of one begin the longest first.
void SortByTrack(std::vector<PartSlice>& slices);

}  // namespace kprof
