#include "daemon/exports/flow_binding.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "daemon/exports/segment_rows.h"
#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr int64_t kNeverBound = std::numeric_limits<int64_t>::max();

bool IsBefore(const FlowPoint& a, const FlowPoint& b) {
  return std::pair(a.slice, a.row) < std::pair(b.slice, b.row);
}

}  // namespace

FlowBinding::FlowBinding(PartReader& part) : part_(part), groups_(ClustersOf(part.segments(EventKind::kSlice))) {
  std::vector<TimeWindow> times;
  for (const SegmentCluster& group : groups_) {
    TimeWindow all{group.front().min_time_ns, group.front().max_time_ns};
    for (const Segment& segment : group) all.last_ns = std::max(all.last_ns, segment.max_time_ns);
    times.push_back(all);
  }
  windows_ = FlowWindowsOf(times);
}

bool FlowBinding::IsIn(size_t group, int64_t row) const {
  return group < groups_.size() &&
         std::any_of(groups_[group].begin(), groups_[group].end(), [&](const Segment& segment) {
           return row >= segment.first_row && row - segment.first_row < int64_t{segment.rows};
         });
}

Status FlowBinding::FindEarly() {
  if (part_.rows(EventKind::kFlow) == 0) return OkStatus();
  ASSIGN_OR_RETURN(bp_, part_.FindString("bp"));
  ASSIGN_OR_RETURN(e_, part_.FindString("e"));
  for (const Segment& segment : part_.segments(EventKind::kFlow)) {
    ASSIGN_OR_RETURN(const SegmentRows rows, SegmentRows::Read(part_, segment, false));
    for (size_t row = 0; row < rows.size(); ++row) binders_.try_emplace(rows.track(row));
  }
  size_t group = 0;
  const FlowBinder::Bound keep = [&](const FlowPoint& point) {
    if (point.slice != kNoValue && !IsIn(group, point.slice) && early_.size() < kMostEarly) early_.push_back(point);
  };
  for (; group < groups_.size(); ++group) RETURN_IF_ERROR(Pass(group, keep));
  for (auto& [track, binder] : binders_) binder = FlowBinder();
  std::sort(early_.begin(), early_.end(), IsBefore);
  return OkStatus();
}

Result<FlowBinding::OfGroup> FlowBinding::Next() {
  const size_t group = next_++;
  OfGroup of;
  if (part_.rows(EventKind::kFlow) == 0) return of;
  const FlowBinder::Bound sort_out = [&](const FlowPoint& point) {
    if (IsIn(group, point.slice)) {
      of.bound.push_back(point);
    } else if (point.slice == kNoValue || ++early_seen_ > kMostEarly) {
      of.unbound.push_back(point);
    }
  };
  if (group < groups_.size()) {
    RETURN_IF_ERROR(Pass(group, sort_out));
    for (const Segment& segment : groups_[group]) {
      const auto from = std::lower_bound(early_.begin(), early_.end(), segment.first_row,
                                         [](const FlowPoint& point, int64_t row) { return point.slice < row; });
      for (auto point = from; point != early_.end() && point->slice - segment.first_row < int64_t{segment.rows};
           ++point) {
        of.bound.push_back(*point);
      }
    }
  } else {
    if (groups_.empty()) RETURN_IF_ERROR(AddPoints(windows_.front()));
    Finish(sort_out);
  }
  std::sort(of.bound.begin(), of.bound.end(), IsBefore);
  return of;
}

Status FlowBinding::Pass(size_t group, const FlowBinder::Bound& bound) {
  RETURN_IF_ERROR(AddPoints(windows_[group]));
  RETURN_IF_ERROR(AddSlices(groups_[group], bound));
  const int64_t next_ns = group + 1 == groups_.size() ? kNeverBound : groups_[group + 1].front().min_time_ns;
  size_t waiting = 0;
  for (auto& [track, binder] : binders_) {
    binder.AdvanceTo(next_ns, bound);
    waiting += binder.waiting();
  }
  if (waiting > kMostWaiting) Finish(bound);
  return OkStatus();
}

void FlowBinding::Finish(const FlowBinder::Bound& bound) {
  for (auto& [track, binder] : binders_) binder.Finish(bound);
}

Status FlowBinding::AddPoints(const TimeWindow& window) {
  std::vector<FlowPoint> points;
  for (const Segment& segment : part_.segments(EventKind::kFlow)) {
    if (segment.max_time_ns < window.first_ns || segment.min_time_ns > window.last_ns) continue;
    ASSIGN_OR_RETURN(SegmentRows rows, SegmentRows::Read(part_, segment));
    for (size_t row = 0; row < rows.size(); ++row) {
      const int64_t time_ns = rows.Of(EventColumn::kTime, row);
      const int64_t phase = rows.Of(EventColumn::kPhase, row);
      if (!window.Has(time_ns) || !IsFlowPhase(phase)) continue;
      bool says_enclosing = false;
      for (const SegmentRows::Arg& arg : rows.Args(row)) {
        if (!arg.slot.of_event || arg.slot.type != ArgType::kString || arg.slot.key != bp_) continue;
        says_enclosing = arg.value == e_;
      }
      points.push_back({.category = rows.Of(EventColumn::kCategory, row),
                        .name = rows.Of(EventColumn::kName, row),
                        .flow_id = rows.Of(EventColumn::kFlowId, row),
                        .time_ns = time_ns,
                        .row = segment.first_row + static_cast<int64_t>(row),
                        .track = rows.track(row),
                        .slice = kNoValue,
                        .phase = static_cast<char>(phase),
                        .binds_next = phase == 'f' && !says_enclosing});
    }
  }
  std::sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::pair(a.time_ns, a.row) < std::pair(b.time_ns, b.row);
  });
  for (const FlowPoint& point : points) binders_[static_cast<uint32_t>(point.track)].AddPoint(point);
  return OkStatus();
}

// Track by track, on each in the order of time.
Status FlowBinding::AddSlices(std::span<const Segment> group, const FlowBinder::Bound& bound) {
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> tracks;
  std::vector<int64_t> rows;
  size_t all = 0;
  for (const Segment& segment : group) all += segment.rows;
  if (all > kMostGroupRows) return OkStatus();
  for (const Segment& segment : group) {
    const auto append = [&](EventColumn column, std::vector<int64_t>& to) -> Status {
      ASSIGN_OR_RETURN(const DecodedColumn values, part_.Read(segment, column));
      to.insert(to.end(), values->begin(), values->end());
      return OkStatus();
    };
    RETURN_IF_ERROR(append(EventColumn::kTime, times));
    RETURN_IF_ERROR(append(EventColumn::kDuration, durations));
    RETURN_IF_ERROR(append(EventColumn::kTrack, tracks));
    for (uint32_t row = 0; row < segment.rows; ++row) rows.push_back(segment.first_row + row);
  }
  std::vector<uint32_t> order;
  if (group.size() > 1) {
    order = OrderByTime(times, durations);
    OrderByTrack(order, tracks);
  }
  int64_t track = kNoValue;
  FlowBinder* binder = nullptr;
  for (size_t i = 0; i < times.size(); ++i) {
    const size_t at = order.empty() ? i : order[i];
    if (tracks[at] != track) {
      track = tracks[at];
      const auto found = binders_.find(static_cast<uint32_t>(track));
      binder = found == binders_.end() ? nullptr : &found->second;
    }
    if (binder != nullptr) binder->AddSlice(times[at], durations[at], rows[at], bound);
  }
  return OkStatus();
}

}  // namespace kprof
