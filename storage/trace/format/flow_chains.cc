#include "storage/trace/format/flow_chains.h"

#include <algorithm>
#include <tuple>

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

}  // namespace kprof
