// The parents of slices, which no part stores: the last slice before one on its track, in the order of time, whose
// depth is one less. They are found segment by segment, when they are asked for. The open slices at the begin of each
// group of segments are kept, so a question at another place does not begin anew.
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/parts/slices_in_time.h"

namespace kprof {

class SliceParents {
 public:
  // For each row of a segment of slices: the row of its parent, or kNoValue.
  Result<DecodedColumn> Read(OpenPart& part, const Segment& segment);

 private:
  // By track, then by depth: the last slice.
  using LastOfDepths = std::unordered_map<int64_t, std::vector<int64_t>>;

  void Plan(const OpenPart& part);
  Status MakeGroup(OpenPart& part, size_t group);
  void Hold(int64_t segment, DecodedColumn parents);

  bool is_planned_ = false;
  std::vector<std::vector<const Segment*>> groups_;
  std::unordered_map<int64_t, size_t> group_of_;             // by a segment's id
  std::vector<std::shared_ptr<const LastOfDepths>> before_;  // of the groups up to the one that was reached
  size_t before_size_ = 0;
  std::unordered_map<int64_t, DecodedColumn> made_;
  std::vector<int64_t> made_order_;
};

}  // namespace kprof
