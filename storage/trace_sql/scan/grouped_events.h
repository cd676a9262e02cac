// Events in the order of one column, for GROUP BY, DISTINCT and ORDER BY. SQLite would sort rows with all their texts
// for that. Here the owner of a GroupedEvents makes all rows go by once, to count them by their values. Then the place
// of each among all is known. The rows go by again, once for each window of rows that fits in the memory there is: rows
// of the window are put at their places, with the values of the columns that are asked for. So the same memory is
// enough for any number of rows. It is SQLite's memory, so it counts as the query's.
//
// One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// A text of a part by its number; one that is none stands before all texts.
struct TextPlace {
  OpenPart* part = nullptr;
  int64_t number = 0;
  bool is_none = false;
};

// Sorts texts in the order of their bytes, as SQLite does; says of each if it is the same text as the one before it.
// Reads them piece by piece, as far as they must be told apart, so the memory does not depend on their length. Takes
// about 16 MiB at most beside them, which it asks the parts' terms for. Fails as OpenPart::ReadText does, and when the
// query must end.
Result<std::vector<bool>> SortTexts(std::vector<TextPlace>& texts);

// The column by which groups are told apart.
enum class GroupedBy { kRun, kPart, kTrack, kName, kCategory };

// The different values of a column that rows are grouped by, in their order. Values of a part have numbers; texts are
// read when they are put in order, and none of them is kept.
//
// Memory, which it asks the query's budget for: about 64 bytes for each value, and 4 KiB for each thousand of numbers
// of which one is in use.
class ValueGroups {
 public:
  ValueGroups(GroupedBy by, const TakeMemory& take_memory) : by_(by), memory_(take_memory) {}

  // The value of a row, numbered in the order in which values are first seen. Fails with kStorageBroken when there is
  // no such text or track, and when there is no memory.
  Result<uint32_t> ValueOf(SegmentView& view, uint32_t row);
  // The same of a value's number in its part, and of `count` rows, which `rows` has (null: the first ones).
  Result<uint32_t> ValueOf(OpenPart& part, int64_t number);
  Status ValuesOf(SegmentView& view, const uint32_t* rows, uint32_t count, uint32_t* values);
  // The number of values seen so far.
  size_t values() const { return values_.size(); }

  // Call it when all were seen: puts them in order. The same text in two parts is one group.
  Status Order(bool is_descending);
  size_t groups() const { return firsts_.size(); }
  uint32_t GroupOf(uint32_t value) const { return group_of_[value]; }
  // A value of the group: its part, and the number of the text or track there (none for a run or part).
  const TextPlace& ValueIn(size_t group) const { return values_[firsts_[group]]; }

 private:
  static constexpr size_t kPage = 1024;
  // By numbers: one more than the value's place in values_; 0: not seen.
  using Page = std::array<uint32_t, kPage>;

  // The column that has the numbers; null: all rows have 0.
  Result<const int64_t*> NumbersIn(SegmentView& view) const;
  Result<uint32_t> See(OpenPart& part, int64_t number);
  Result<std::vector<bool>> SortValues();

  const GroupedBy by_;
  MemoryCharge memory_;
  std::vector<TextPlace> values_;
  std::vector<std::vector<std::unique_ptr<Page>>> pages_;  // by part
  std::vector<uint32_t> group_of_;
  std::vector<uint32_t> firsts_;  // of groups
};

class GroupedEvents {
 public:
  // A part, and there a segment and a row of it.
  struct Place {
    OpenPart* part = nullptr;
    const Segment* segment = nullptr;
    uint32_t row = 0;
  };

  // `values`: the number of values that are kept of each row. `window_bytes`: the memory of a window, if there is so
  // much.
  GroupedEvents(GroupedBy by, const TraceScan::Order& order, size_t values, const TakeMemory& take_memory,
                size_t window_bytes = kWindowBytes);
  ~GroupedEvents();
  GroupedEvents(const GroupedEvents&) = delete;
  GroupedEvents& operator=(const GroupedEvents&) = delete;

  // Count all rows first, then call Order. Both fail as ValueGroups does.
  Status Count(SegmentView& view, uint32_t row);
  Status Order();

  // The rows in their order, or one for each value. When AtEnd and NeedsWindow are both false there is a row.
  bool AtEnd() const { return at_ >= size_; }
  // True if rows must go by again: all of them in the same order, or until the window is full. Call BeginWindow before
  // the first of them; it fails with kUsage when there is no memory at all.
  bool NeedsWindow() const { return !one_each_ && at_ >= window_end_ && !AtEnd(); }
  Status BeginWindow();
  bool IsFull() const { return placed_ == window_end_ - window_begin_; }
  // The place for the values of that row; null: the row is not in the window.
  Result<int64_t*> Put(SegmentView& view, uint32_t row);

  bool is_one_each() const { return one_each_; }
  void Next() {
    ++at_;
    if (at_ < size_ && at_ >= begins_[group_ + 1]) ++group_;
  }
  const TextPlace& group_value() const { return groups_.ValueIn(group_); }
  // REQUIRES: not one for each value.
  Place place() const {
    const auto packed = static_cast<uint64_t>(rows_[(at_ - window_begin_) * width_]);
    const auto& [part, segment] = segments_[packed >> 32];
    return {part, segment, static_cast<uint32_t>(packed)};
  }
  const int64_t* values() const { return rows_ + (at_ - window_begin_) * width_ + 1; }

 private:
  static constexpr size_t kWindowBytes = 16 << 20;

  const bool one_each_;
  const bool is_descending_;
  const size_t width_;  // of a row: its place, and its values
  const size_t window_bytes_;
  ValueGroups groups_;
  std::vector<uint64_t> counts_;  // by value
  std::vector<uint64_t> begins_;  // by group: the place of its first row among all, and behind the last one their end
  std::vector<uint64_t> next_;    // by group, while rows go by: the place of its next row
  uint64_t size_ = 0;
  uint64_t at_ = 0;
  size_t group_ = 0;  // of at_
  // The window:
  uint64_t window_begin_ = 0;
  uint64_t window_end_ = 0;
  uint64_t placed_ = 0;
  int64_t* rows_ = nullptr;
  uint64_t room_ = 0;  // in rows
  std::vector<std::pair<OpenPart*, const Segment*>> segments_;
};

}  // namespace kprof
