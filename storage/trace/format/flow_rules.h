// Which slice each flow point of a track touches (flow_chains.h has the rest of the rule): the one that it lies in,
// with its begin and its end, the latest begun of several; an end that does not say bp "e" (binds_next) touches the
// next one to begin, which may begin at that very time. Where there is none it touches none. A slice whose end is not
// known is one to begin, but nothing lies in it.
//
// Slices and points of the track go by in the order of time, of slices of one time the longest first; a point is told
// of before any slice that begins later.
//
// One thread. Memory: the slices that are open, at most kMostOpen of them (of more those begun first are forgotten),
// and the points that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "storage/trace/format/flow_point.h"

namespace kprof {

class FlowBinder {
 public:
  static constexpr size_t kMostOpen = 1 << 16;

  // A point with the slice that it touches, which is kNoValue for none. In no order.
  using Bound = std::function<void(const FlowPoint&)>;

  void AddPoint(const FlowPoint& point) { points_.push_back(point); }
  // REQUIRES: the time of no slice before is later.
  void AddSlice(int64_t time_ns, int64_t duration_ns, int64_t row, const Bound& bound);
  // No slice that begins before that time is to follow.
  void AdvanceTo(int64_t time_ns, const Bound& bound);
  // All that wait. Points and slices may follow; but what waited for the next slice has none.
  void Finish(const Bound& bound);

  size_t waiting() const { return points_.size() - next_ + waits_.size(); }

 private:
  struct Open {
    int64_t end_ns;
    int64_t row;
  };

  std::vector<FlowPoint> points_;  // by time; those before next_ are done with
  size_t next_ = 0;
  std::vector<FlowPoint> waits_;  // for the next slice
  std::vector<Open> open_;        // by begin
};

}  // namespace kprof
