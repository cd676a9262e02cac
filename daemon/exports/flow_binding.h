// Finds the flow points that touch each slice, for an export that writes slices as it reads them: group by group, in
// the order of time. A group is segments that overlap in time, mostly one. The rule is that of flow_rules.h, as for
// SQL's `flow`.
//
// A point may touch a slice of an earlier group. Such points are looked for first, in a pass of their own over times
// and tracks, and handed out with the slice.
//
// One thread. Memory: the points in the time of one group, the slices that are open, and at most kMostEarly points.
// Further points that touch slices of earlier groups count as touching none, and so do points in a group with more than
// kMostGroupRows rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/flow_rules.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

class FlowBinding {
 public:
  static constexpr size_t kMostEarly = 1 << 19;
  static constexpr size_t kMostWaiting = 1 << 18;  // for a slice to begin
  static constexpr size_t kMostGroupRows = 4 << 20;

  // The part must outlive it.
  explicit FlowBinding(PartReader& part);

  size_t groups() const { return groups_.size(); }
  std::span<const Segment> group(size_t number) const { return groups_[number]; }

  // Call once, first.
  Status FindEarly();

  struct OfGroup {
    std::vector<FlowPoint> bound;    // by the rows of their slices, all of which are in the group
    std::vector<FlowPoint> unbound;  // touch no slice, or are beyond kMostEarly
  };
  // The points of the next group. Call once more after the last group, for the points that are left.
  Result<OfGroup> Next();

 private:
  Status Pass(size_t group, const FlowBinder::Bound& bound);
  Status AddPoints(const TimeWindow& window);
  Status AddSlices(std::span<const Segment> group, const FlowBinder::Bound& bound);
  void Finish(const FlowBinder::Bound& bound);
  bool IsIn(size_t group, int64_t row) const;

  PartReader& part_;
  std::vector<SegmentCluster> groups_;
  std::vector<TimeWindow> windows_;  // of their points
  std::optional<int64_t> bp_;        // strings' numbers
  std::optional<int64_t> e_;
  std::unordered_map<uint32_t, FlowBinder> binders_;  // by track, of those with points
  std::vector<FlowPoint> early_;                      // by the rows of their slices
  size_t early_seen_ = 0;
  size_t next_ = 0;
};

}  // namespace kprof
