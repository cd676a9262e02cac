#include "storage/trace/format/flow_rules.h"

#include <limits>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr int64_t kDone = std::numeric_limits<int64_t>::min() + 1;  // no row, and not kNoValue

}  // namespace

void FlowBinder::AddSlice(int64_t time_ns, int64_t duration_ns, int64_t row, const Bound& bound) {
  AdvanceTo(time_ns, bound);
  for (FlowPoint& point : waits_) {
    point.slice = row;
    bound(point);
  }
  waits_.clear();
  for (size_t at = next_; at < points_.size() && points_[at].time_ns == time_ns; ++at) {
    FlowPoint& point = points_[at];
    if (!point.binds_next || point.slice == kDone) continue;
    point.slice = row;
    bound(point);
    point.slice = kDone;
  }
  if (duration_ns < 0) return;
  while (!open_.empty() && open_.back().end_ns < time_ns) open_.pop_back();
  if (open_.size() == kMostOpen) open_.erase(open_.begin(), open_.begin() + kMostOpen / 2);
  open_.push_back({EndOf(time_ns, duration_ns), row});
}

void FlowBinder::Finish(const Bound& bound) {
  AdvanceTo(std::numeric_limits<int64_t>::max(), bound);
  waits_.insert(waits_.end(), points_.begin() + static_cast<ptrdiff_t>(next_), points_.end());  // of no possible time
  points_.clear();
  next_ = 0;
  for (const FlowPoint& point : waits_) {
    if (point.slice != kDone) bound(point);
  }
  waits_.clear();
}

// Those of which all slices that could hold them were seen.
void FlowBinder::AdvanceTo(int64_t time_ns, const Bound& bound) {
  for (; next_ < points_.size() && points_[next_].time_ns < time_ns; ++next_) {
    FlowPoint& point = points_[next_];
    if (point.slice == kDone) continue;
    if (point.binds_next) {
      waits_.push_back(point);
      continue;
    }
    while (!open_.empty() && open_.back().end_ns < point.time_ns) open_.pop_back();
    if (!open_.empty()) point.slice = open_.back().row;
    bound(point);
  }
  if (next_ < points_.size() || next_ == 0) return;
  points_.clear();
  next_ = 0;
}

}  // namespace kprof
