// Counts and sums of events, for statements that look at nothing else of them: one row for each value of a column, or
// one for all. A segment's rows go by at once, so a row takes a nanosecond or two where handing it to SQLite takes a
// hundred.
//
// The answers are those that SQLite would find row by row, to the last bit: its sum() fails where a sum on the way has
// no room in 64 bits, and its avg() and total() add up doubles, so both depend on the order of rows. Where that could
// matter and rows of one group are in several parts, all of them go by a second time, group by group.
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/scan/grouped_events.h"
#include "storage/trace_sql/tables/sum_functions.h"

namespace kprof {

class SummedEvents {
 public:
  // No `by`: all rows are one group.
  SummedEvents(std::optional<GroupedBy> by, bool is_descending, std::vector<EventColumn> columns,
               const TakeMemory& take_memory);

  // Adds rows of a segment: `count` of them, which `rows` has in their order; null: the first ones. Fails as
  // ValueGroups does.
  Status Add(SegmentView& view, const uint32_t* rows, uint32_t count);
  // When all were added: puts the groups in order. True: all rows must be added again, in the same order; then it is
  // called once more.
  Result<bool> Order();

  // The groups in their order; there is one if AtEnd is false.
  bool AtEnd() const { return group_ >= groups_; }
  void Next() { ++group_; }
  int64_t rows() const { return counts_[group_]; }
  // By its place in `columns`.
  const ColumnSum& sum(size_t column) const { return sums_[group_ * columns_.size() + column]; }
  const TextPlace& group_value() const { return values_->ValueIn(group_); }

 private:
  // Counts all rows of a segment from what is known of it. False: nothing is, and nothing was done.
  Result<bool> CountByCategory(SegmentView& view);
  Status FindPlaces(SegmentView& view, const uint32_t* rows, uint32_t count);
  Status MakeRoom(size_t places);

  const std::optional<GroupedBy> by_;
  const bool is_descending_;
  const std::vector<EventColumn> columns_;
  MemoryCharge memory_;
  std::unique_ptr<ValueGroups> values_;  // null without `by`
  bool is_ordered_ = false;              // then a place is a group's, before a value's
  std::vector<int64_t> counts_;          // by place
  std::vector<ColumnSum> sums_;          // by place and column
  std::vector<uint32_t> places_;         // of the rows that are being added
  size_t groups_ = 0;
  size_t group_ = 0;
};

}  // namespace kprof
