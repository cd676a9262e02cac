#include "storage/trace/format/flow_rules.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

bool IsOfOneFlow(const ChainPoint& a, const ChainPoint& b) {
  return a.flow_id == b.flow_id && a.label == b.label;
}

}  // namespace

void SortByFlow(std::vector<ChainPoint>& points) {
  const auto key = [](const ChainPoint& point) {
    return std::tuple(uint32_t{point.label}, point.flow_id, point.time_ns, uint32_t{point.phase}, point.row);
  };
  std::sort(points.begin(), points.end(), [&](const ChainPoint& a, const ChainPoint& b) { return key(a) < key(b); });
}

void ForEachFlowStep(std::span<const ChainPoint> sorted,
                     const std::function<bool(const ChainPoint& from, const ChainPoint& to)>& see) {
  for (size_t first = 0; first < sorted.size();) {
    size_t end = first + 1;
    while (end < sorted.size() && IsOfOneFlow(sorted[end], sorted[first])) ++end;
    const std::span<const ChainPoint> flow = sorted.subspan(first, end - first);
    first = end;
    if (flow.size() == 2 && flow[0].phase == ChainPoint::kEnd && flow[1].phase == ChainPoint::kBegin) {
      if (!see(flow[1], flow[0])) return;
      continue;
    }
    const ChainPoint* before = nullptr;
    for (const ChainPoint& point : flow) {
      const bool begins = point.phase == ChainPoint::kBegin;
      if (before != nullptr && !begins && !see(*before, point)) return;
      if (begins || (point.phase == ChainPoint::kStep && before != nullptr)) before = &point;
      if (point.phase == ChainPoint::kEnd) before = nullptr;
    }
  }
}

namespace {

constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

std::vector<TimeWindow> FlowWindowsOf(std::span<const TimeWindow> groups) {
  if (groups.empty()) return {{kLongAgo, kNever}};
  std::vector<TimeWindow> windows(groups.size(), TimeWindow{kNever, kLongAgo});
  int64_t first_ns = kLongAgo;
  for (size_t i = 0; i < groups.size(); ++i) {
    const bool is_last = i + 1 == groups.size();
    const int64_t next_ns = is_last ? kNever : groups[i + 1].first_ns;
    const int64_t last_ns = is_last ? kNever : std::max(groups[i].last_ns, next_ns - (next_ns > kLongAgo ? 1 : 0));
    windows[i] = {first_ns, last_ns};
    if (last_ns == kNever) break;
    first_ns = std::max(first_ns, last_ns + 1);
  }
  return windows;
}

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
