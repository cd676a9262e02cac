// An EventFilter as it is evaluated on one part: names and categories are sets of string numbers, tracks a set of track
// numbers. Segments that cannot have such events are not decoded, nor are columns whose bounds answer for all their
// rows.
//
// On the reader's thread. Binding costs a look-up of each name; a name with wildcards, or another test of texts, costs
// a pass over the part's strings. Selecting costs a pass over each column that decides, the first of them over all rows
// of the tracks asked for, each other one over the rows that are left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// A set of numbers from 0 on (of strings), which is asked a million times. Small numbers, as those in a part of ours,
// take a byte each; the others are looked up.
class NumberSet {
 public:
  // REQUIRES: it is not negative.
  void Add(int64_t number) {
    least_ = std::min(least_, number);
    most_ = std::max(most_, number);
    if (number >= kFar) {
      far_.insert(number);
      return;
    }
    if (static_cast<size_t>(number) >= near_.size()) near_.resize(static_cast<size_t>(number) + 1);
    near_[static_cast<size_t>(number)] = 1;
  }

  bool empty() const { return least_ > most_; }
  bool is_one() const { return least_ == most_; }
  int64_t least() const { return least_; }
  int64_t most() const { return most_; }
  bool Has(int64_t number) const {
    if (number < least_ || number > most_) return false;
    if (number >= kFar) return far_.contains(number);
    return static_cast<size_t>(number) < near_.size() && near_[static_cast<size_t>(number)] != 0;
  }

 private:
  static constexpr int64_t kFar = 1 << 24;

  std::vector<uint8_t> near_;
  std::unordered_set<int64_t> far_;
  int64_t least_ = std::numeric_limits<int64_t>::max();
  int64_t most_ = std::numeric_limits<int64_t>::min();
};

// Rows of a segment.
struct RowSelection {
  bool all = false;
  std::vector<uint32_t> rows;  // in order; unused if `all`

  // The i-th of them.
  uint32_t RowAt(size_t i) const { return all ? static_cast<uint32_t>(i) : rows[i]; }
};

class PartFilter {
 public:
  // The reader of `part` must outlive it. A filter by a column that the kind does not have finds nothing: by names no
  // counter (counters have tracks), by durations no instant. Fails as reading strings does.
  static Result<PartFilter> Bind(const EventFilter& filter, const TracePart& part, EventKind kind);

  EventKind kind() const { return kind_; }
  // True: nothing of the part is asked for.
  bool never() const { return never_; }
  bool HasTrack(uint32_t track) const { return tracks_.empty() || tracks_[track] != 0; }

  // True if the segment may have such events, as its bounds tell.
  Result<bool> MayMatch(const Segment& segment) const;
  // REQUIRES: MayMatch. Fails with kStorageBroken as reading its columns does.
  Status Select(const Segment& segment, RowSelection& selection) const;

  // Calls `see` for each segment that has such events, in the order of their ids. Returns the first failure at once.
  using See = std::function<Status(const Segment& segment, const RowSelection& selection)>;
  Status ForEach(const StopSignal& stop, const See& see) const;
  // The same for one segment. `selection` is used for its rows.
  Status ForOne(const Segment& segment, RowSelection& selection, const See& see) const;

  // True if totals (aggregate.h) can answer: the filter is for slices, and asks for nothing that a total does not have.
  bool TakesTotals() const { return kind_ == EventKind::kSlice && !AsksDurations() && !correlation_; }
  // True if all slices of these totals begin within the times asked for: then ForOne selects totals as it selects
  // slices.
  bool HasTimesOf(const Segment& totals) const {
    return (!from_ns_ || totals.min_time_ns >= *from_ns_) && (!to_ns_ || totals.max_time_ns < *to_ns_) &&
           (!first_begin_ || totals.min_time_ns >= *first_begin_) &&
           (!last_begin_ || totals.max_time_ns <= *last_begin_);
  }

 private:
  PartFilter(PartReader& reader, EventKind kind) : reader_(&reader), kind_(kind) {}
  Status BindTracks(const EventFilter& filter, const TracePart& part);
  bool AsksDurations() const {
    return least_duration_ || most_duration_ || only_without_end_ || !not_durations_.empty();
  }
  bool HasRange() const { return from_ns_ || to_ns_; }
  Status SelectTracks(const Segment& segment, RowSelection& selection) const;
  Status SelectTimes(const Segment& segment, RowSelection& selection) const;
  Status SelectRange(const Segment& segment, EventColumn column, int64_t least, int64_t most,
                     RowSelection& selection) const;
  Status SelectDurations(const Segment& segment, RowSelection& selection) const;
  Status SelectCategories(const Segment& segment, RowSelection& selection) const;
  Status SelectSet(const Segment& segment, EventColumn column, const NumberSet& set, RowSelection& selection) const;

  PartReader* reader_;
  EventKind kind_;
  bool never_ = false;
  std::optional<int64_t> from_ns_;
  std::optional<int64_t> to_ns_;
  std::optional<int64_t> first_begin_;
  std::optional<int64_t> last_begin_;
  std::vector<uint8_t> tracks_;  // by number; empty: all of them
  int64_t first_track_ = 0;
  int64_t last_track_ = std::numeric_limits<int64_t>::max();
  std::optional<NumberSet> names_;
  std::optional<NumberSet> categories_;
  std::optional<int64_t> least_duration_;
  std::optional<int64_t> most_duration_;
  std::vector<int64_t> not_durations_;
  bool only_without_end_ = false;
  std::optional<int64_t> correlation_;
};

}  // namespace kprof
