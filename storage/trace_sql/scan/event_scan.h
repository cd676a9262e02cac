// Goes through the events of one kind that meet a filter: part by part, segment by segment. Leaves out segments that
// can hold none, and of the others decodes only the columns that the filter looks at. It hands out places: a segment
// and a row of it.
//
// One thread. The set must outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/trace_model.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// The conditions of a query on events, made of ScanConditions by their columns' meaning.
struct ScanFilter {
  TextFilter run;
  TextFilter part;   // its name
  IntegerFilter id;  // an id of SQL, as are track, parent and correlation
  IntegerFilter track;
  IntegerFilter parent;
  // By IndexOf(column): time, duration, depth, correlation.
  std::array<IntegerFilter, kEventColumns> values;
  // Name and category.
  std::array<TextFilter, kEventColumns> texts;

  IntegerFilter& of(EventColumn column) { return values[IndexOf(column)]; }
  const IntegerFilter& of(EventColumn column) const { return values[IndexOf(column)]; }
  TextFilter& text(EventColumn column) { return texts[IndexOf(column)]; }
  const TextFilter& text(EventColumn column) const { return texts[IndexOf(column)]; }
};

// Narrows a filter that asks for few parents (parent_id) to the places of their children: on the track of a parent,
// within its time, one level below it; for several parents on their tracks, within the time of all of them. The parents
// are still to be compared.
Status NarrowToChildren(TraceSet& set, EventKind kind, ScanFilter& filter);

class EventScan {
 public:
  EventScan(TraceSet& set, EventKind kind) : set_(set), kind_(kind) {}

  // Goes to the first event.
  Status Start(ScanFilter filter);
  bool AtEnd() const { return view_ == nullptr; }
  // Goes to the next event of the same segment. False, with nothing done, when there is none.
  bool NextAtHand() {
    if (at_ + 1 >= chosen_) return false;
    ++at_;
    return true;
  }
  Status Next() {
    if (NextAtHand()) return OkStatus();
    return ToNextSegment();
  }

  // REQUIRES: not at the end.
  SegmentView& view() { return *view_; }
  uint32_t row() const { return is_all_ ? at_ : rows_[at_]; }

  // For callers that take all rows of a segment at once: their number, and which they are (null: all of the segment).
  uint32_t count() const { return chosen_; }
  const uint32_t* rows() const { return is_all_ ? nullptr : rows_.data(); }
  Status ToNextSegment();

 private:
  // Answers of the conditions with texts.
  struct Answers {
    TextAnswers names;
    TextAnswers categories;
  };
  // A segment to look at, and the only rows of it to look at, if they are known.
  struct Task {
    const Segment* segment;
    std::optional<std::vector<uint32_t>> rows;
  };

  Status PlanPart(OpenPart& part);
  // Puts into tasks_ the events that are found by id or correlation. False when nothing can be looked up.
  Result<bool> LookUp(OpenPart& part);
  void AddRows(OpenPart& part, const std::vector<int64_t>& rows);
  Result<bool> MayHold(OpenPart& part, const Segment& segment);
  Status Choose(const Task& task);
  Status ChooseByTrackAndTime(const SegmentView& view);
  // Chooses by category before all else, from what is known of the segment. False: that does not say it all.
  Result<bool> ChooseByCategory(SegmentView& view);
  const IntegerFilter& OfPart(EventColumn column) const {
    return column == EventColumn::kCorrelation ? correlations_ : filter_.of(column);
  }
  Status KeepValues(EventColumn column, const IntegerFilter& filter);
  Status KeepCorrelations();
  Status KeepTexts(EventColumn column, TextAnswers& answers);
  void KeepIds(const Task& task);
  template <typename Accepts>
  Status Keep(const int64_t* values, const Accepts& accepts);

  TraceSet& set_;
  const EventKind kind_;
  ScanFilter filter_;
  std::vector<std::optional<Answers>> answers_of_;  // by the parts' numbers, as long as those conditions are the same
  size_t next_part_ = 0;
  OpenPart* part_ = nullptr;  // the part that is gone through; below, its facts:
  IntegerFilter tracks_;
  IntegerFilter correlations_;  // may accept some more
  Answers* answers_ = nullptr;
  std::vector<Task> tasks_;
  size_t next_task_ = 0;
  // The state in the segment:
  std::optional<SegmentView> held_;
  SegmentView* view_ = nullptr;
  bool is_all_ = false;  // every row, else rows_
  std::vector<uint32_t> rows_;
  uint32_t at_ = 0;
  uint32_t chosen_ = 0;
};

}  // namespace kprof
