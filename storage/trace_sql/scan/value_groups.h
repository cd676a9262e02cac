// The different values of a column that rows are brought together by, in their order. Values of a part have numbers;
// texts are read when they are put in order, and none of them is kept.
//
// One thread. Memory: about 64 bytes for each value, and 4 KiB for each thousand of numbers of which one is in use,
// which it asks the query's terms for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/base/memory_charge.h"
#include "storage/base/status.h"
#include "storage/trace_sql/parts/segment_view.h"
#include "storage/trace_sql/scan/text_order.h"

namespace kprof {

// What tells groups apart.
enum class GroupedBy { kRun, kPart, kTrack, kName, kCategory };

class ValueGroups {
 public:
  ValueGroups(GroupedBy by, const TakeMemory& take_memory) : by_(by), memory_(take_memory) {}

  // Which value a row has, by the order in which values are first seen. Fails with kStorageBroken where there is no
  // such text or track, and where there is no memory.
  Result<uint32_t> ValueOf(SegmentView& view, uint32_t row);
  // How many were seen.
  size_t values() const { return values_.size(); }

  // When all were seen: puts them in order. The same text in two parts is one group.
  Status Order(bool is_descending);
  size_t groups() const { return firsts_.size(); }
  uint32_t GroupOf(uint32_t value) const { return group_of_[value]; }
  // A value of the group: its part, and there the number of the text or track (none of a run or part).
  const TextPlace& ValueIn(size_t group) const { return values_[firsts_[group]]; }

 private:
  static constexpr size_t kPage = 1024;
  // By numbers: one more than the value's place in values_; 0: not seen.
  using Page = std::array<uint32_t, kPage>;

  Result<int64_t> NumberIn(SegmentView& view, uint32_t row) const;
  Result<uint32_t> See(OpenPart& part, int64_t number);
  Result<std::vector<bool>> SortValues();

  const GroupedBy by_;
  MemoryCharge memory_;
  std::vector<TextPlace> values_;
  std::vector<std::vector<std::unique_ptr<Page>>> pages_;  // by part
  std::vector<uint32_t> group_of_;
  std::vector<uint32_t> firsts_;  // of groups
};

}  // namespace kprof
