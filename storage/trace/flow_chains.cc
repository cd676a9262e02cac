#include "storage/trace/flow_chains.h"

#include <algorithm>
#include <tuple>

namespace kprof {
namespace {

int OrderOf(char phase) {
  return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

bool IsOfOneFlow(const FlowPoint& a, const FlowPoint& b) {
  return std::tie(a.category, a.name, a.flow_id) == std::tie(b.category, b.name, b.flow_id);
}

}  // namespace

void SortByFlow(std::vector<FlowPoint>& points) {
  const auto key = [](const FlowPoint& point) {
    return std::tuple(point.category, point.name, point.flow_id, point.time_ns, OrderOf(point.phase), point.row);
  };
  std::sort(points.begin(), points.end(), [&](const FlowPoint& a, const FlowPoint& b) { return key(a) < key(b); });
}

void ForEachFlowStep(std::span<const FlowPoint> sorted,
                     const std::function<bool(const FlowPoint& from, const FlowPoint& to)>& see) {
  for (size_t first = 0; first < sorted.size();) {
    size_t end = first + 1;
    while (end < sorted.size() && IsOfOneFlow(sorted[end], sorted[first])) ++end;
    const std::span<const FlowPoint> flow = sorted.subspan(first, end - first);
    first = end;
    if (flow.size() == 2 && flow[0].phase == 'f' && flow[1].phase == 's') {
      if (!see(flow[1], flow[0])) return;
      continue;
    }
    const FlowPoint* before = nullptr;
    for (const FlowPoint& point : flow) {
      if (before != nullptr && point.phase != 's' && !see(*before, point)) return;
      if (point.phase == 's' || (point.phase == 't' && before != nullptr)) before = &point;
      if (point.phase == 'f') before = nullptr;
    }
  }
}

}  // namespace kprof
