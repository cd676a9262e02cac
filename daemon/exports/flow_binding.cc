#include "daemon/exports/flow_binding.h"

#include <algorithm>
#include <tuple>

#include "storage/trace/event_time.h"

namespace kprof {

Result<std::vector<FlowPoint>> FlowPointsIn(PartReader& part, int64_t from_ns, int64_t to_ns) {
  std::vector<FlowPoint> points;
  for (const Segment& segment : part.segments(EventKind::kFlow)) {
    if (segment.max_time_ns < from_ns || segment.min_time_ns >= to_ns) continue;
    ASSIGN_OR_RETURN(const SegmentRows rows, SegmentRows::Read(part, segment, false));
    for (size_t row = 0; row < rows.size(); ++row) {
      const int64_t time_ns = rows.Of(EventColumn::kTime, row);
      if (time_ns < from_ns || time_ns >= to_ns) continue;
      points.push_back({time_ns, rows.track(row), rows.Of(EventColumn::kFlowId, row), rows.Of(EventColumn::kName, row),
                        rows.Of(EventColumn::kCategory, row), rows.Of(EventColumn::kPhase, row) == 'f'});
    }
  }
  return points;
}

BoundFlows BindFlows(std::vector<FlowPoint> points, const SegmentRows& slices) {
  std::stable_sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::tie(a.track, a.time_ns) < std::tie(b.track, b.time_ns);
  });
  BoundFlows flows;
  auto point = points.begin();
  for (size_t row = 0; row < slices.size();) {
    const uint32_t track = slices.track(row);
    for (; point != points.end() && point->track < track; ++point) flows.unbound.push_back(*point);
    std::vector<size_t> open;
    for (; point != points.end() && point->track == track; ++point) {
      for (; row < slices.size() && slices.track(row) == track; ++row) {
        if (slices.Of(EventColumn::kTime, row) > point->time_ns) break;
        open.push_back(row);
      }
      const auto end_of = [&](size_t of) {
        return EndOf(slices.Of(EventColumn::kTime, of), slices.Of(EventColumn::kDuration, of));
      };
      while (!open.empty() && end_of(open.back()) < point->time_ns) open.pop_back();
      if (open.empty()) {
        flows.unbound.push_back(*point);
      } else {
        flows.bound.push_back({open.back(), *point});
      }
    }
    while (row < slices.size() && slices.track(row) == track) ++row;
  }
  flows.unbound.insert(flows.unbound.end(), point, points.end());
  std::stable_sort(flows.bound.begin(), flows.bound.end(),
                   [](const BoundFlows::Bound& a, const BoundFlows::Bound& b) { return a.row < b.row; });
  return flows;
}

}  // namespace kprof
