// Events in the order of one column, for GROUP BY, DISTINCT and ORDER BY: SQLite would sort rows with all their texts
// for that; here their values are told apart by their numbers, each value is sorted once, and of the rows their places
// alone are kept, in SQLite's memory, so that they count as the query's.
//
// One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/segment_view.h"
#include "storage/trace_sql/trace_table.h"

namespace kprof {

// What tells groups apart.
enum class GroupKey { kRun, kTrack, kName, kCategory };

class GroupedEvents {
 public:
  GroupedEvents(GroupKey key, const TraceScan::Order& order)
      : key_(key), one_each_(order.one_each), is_descending_(order.is_descending) {}
  ~GroupedEvents();
  GroupedEvents(const GroupedEvents&) = delete;
  GroupedEvents& operator=(const GroupedEvents&) = delete;

  // All of them, segment by segment; then Finish. Fail with kUsage where there is no memory for them.
  Status Add(SegmentView& view, uint32_t row);
  Status Finish();

  size_t size() const { return size_; }
  SegmentView& view(size_t at) { return views_[places_[at].view]; }
  uint32_t row(size_t at) const { return places_[at].row; }

 private:
  struct Place {
    uint32_t view;
    uint32_t row;
  };
  struct Found {
    Place place;
    uint32_t group;
  };
  Result<uint32_t> GroupOf(SegmentView& view, uint32_t row);
  uint32_t GroupOfText(std::string_view text);
  // Of each group, in which place it comes.
  std::vector<uint32_t> PlacesOfGroups() const;

  const GroupKey key_;
  const bool one_each_;
  const bool is_descending_;
  std::deque<SegmentView> views_;
  std::unordered_map<std::string, uint32_t> groups_;  // by text
  std::unordered_map<int64_t, uint32_t> tracks_;
  uint32_t next_group_ = 0;
  std::vector<uint32_t> group_of_number_;  // of the part's texts; one more than the group, 0: not known
  const OpenPart* part_ = nullptr;
  Found* found_ = nullptr;
  Place* places_ = nullptr;
  size_t size_ = 0;
  size_t room_ = 0;
};

}  // namespace kprof
