#include "storage/trace_sql/flow_pairs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "storage/base/memory_charge.h"
#include "storage/trace/flow_binder.h"
#include "storage/trace/flow_chains.h"
#include "storage/trace_sql/segment_view.h"
#include "storage/trace_sql/slice_sweep.h"

namespace kprof {
namespace {

// Whether a row's event says bp "e", which is beside its arguments.
class BindingPoints {
 public:
  explicit BindingPoints(OpenPart& part) : part_(part) {}

  Result<bool> SaysEnclosing(SegmentView& view, uint32_t row) {
    ASSIGN_OR_RETURN(const uint32_t shape, view.Shape(row));
    ASSIGN_OR_RETURN(const std::optional<uint32_t> slot, SlotOf(shape));
    if (!slot) return false;
    ASSIGN_OR_RETURN(const int64_t value, view.Arg(row, shape, *slot));
    ASSIGN_OR_RETURN(const PartText text, part_.ReadText(value));
    return text.view() == "e";
  }

 private:
  Result<std::optional<uint32_t>> SlotOf(uint32_t shape) {
    const auto found = slots_.find(shape);
    if (found != slots_.end()) return found->second;
    std::optional<uint32_t> slot;
    const ArgShape& slots = part_.facts().shapes()[shape];
    for (uint32_t i = 0; i < slots.size(); ++i) {
      if (!slots[i].of_event || slots[i].type != ArgType::kString) continue;
      ASSIGN_OR_RETURN(const PartText key, part_.ReadText(slots[i].key));
      if (key.view() == "bp") slot = i;
    }
    slots_.emplace(shape, slot);
    return slot;
  }

  OpenPart& part_;
  std::unordered_map<uint32_t, std::optional<uint32_t>> slots_;
};

Result<std::vector<FlowPoint>> ReadPoints(OpenPart& part, MemoryCharge& memory) {
  if (part.rows(EventKind::kFlow) > kMostFlowPoints) {
    return Fail(ErrorCode::kUsage, "find the flows of trace part " + part.place().path,
                "it has more than " + std::to_string(kMostFlowPoints) + " points of flows",
                "ask without flow, and without the slice of flow_point");
  }
  RETURN_IF_ERROR(memory.Grow(part.rows(EventKind::kFlow) * static_cast<int64_t>(sizeof(FlowPoint))));
  std::vector<FlowPoint> points;
  points.reserve(static_cast<size_t>(part.rows(EventKind::kFlow)));
  BindingPoints binding(part);
  for (const Segment& segment : part.segments(EventKind::kFlow)) {
    SegmentView view(part, segment);
    ASSIGN_OR_RETURN(const int64_t* times, view.Column(EventColumn::kTime));
    ASSIGN_OR_RETURN(const int64_t* tracks, view.Column(EventColumn::kTrack));
    ASSIGN_OR_RETURN(const int64_t* names, view.Column(EventColumn::kName));
    ASSIGN_OR_RETURN(const int64_t* categories, view.Column(EventColumn::kCategory));
    ASSIGN_OR_RETURN(const int64_t* ids, view.Column(EventColumn::kFlowId));
    ASSIGN_OR_RETURN(const int64_t* phases, view.Column(EventColumn::kPhase));
    ASSIGN_OR_RETURN(const int64_t* slices, view.Column(EventColumn::kSlice));
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if (!IsFlowPhase(phases[row])) continue;
      FlowPoint point{.category = categories[row],
                      .name = names[row],
                      .flow_id = ids[row],
                      .time_ns = times[row],
                      .row = segment.first_row + row,
                      .track = tracks[row],
                      .slice = slices[row],
                      .phase = static_cast<char>(phases[row])};
      if (point.slice != kNoValue && part.FindSegment(EventKind::kSlice, point.slice) == nullptr) {
        return part.Broken("a flow touches slice " + std::to_string(point.slice) + ", of which there is none");
      }
      if (point.phase == 'f') {
        ASSIGN_OR_RETURN(const bool is_enclosed, binding.SaysEnclosing(view, row));
        point.binds_next = !is_enclosed;
      }
      points.push_back(point);
    }
  }
  return points;
}

// Those of which the part does not say it get the slices that they touch.
Status Bind(OpenPart& part, std::vector<FlowPoint>& points, MemoryCharge& memory) {
  const auto unbound =
      std::partition(points.begin(), points.end(), [](const FlowPoint& point) { return point.slice != kNoValue; });
  if (unbound == points.end()) return OkStatus();
  // Each waits in a binder of its track.
  RETURN_IF_ERROR(memory.Grow((points.end() - unbound) * static_cast<int64_t>(sizeof(FlowPoint))));
  std::sort(unbound, points.end(), [](const FlowPoint& a, const FlowPoint& b) {
    return std::pair(a.time_ns, a.row) < std::pair(b.time_ns, b.row);
  });
  std::unordered_map<int64_t, FlowBinder> binders;  // by track
  for (auto point = unbound; point != points.end(); ++point) binders[point->track].AddPoint(*point);
  points.erase(unbound, points.end());
  const FlowBinder::Bound bound = [&](const FlowPoint& point) { points.push_back(point); };
  for (const auto& group : SliceGroups(part)) {
    int64_t track = kNoValue;
    FlowBinder* binder = nullptr;
    RETURN_IF_ERROR(SweepGroup(part, group, [&](const SweptSlice& slice) {
      if (slice.track != track) {
        track = slice.track;
        const auto found = binders.find(track);
        binder = found == binders.end() ? nullptr : &found->second;
      }
      if (binder != nullptr) binder->AddSlice(slice.time_ns, slice.duration_ns, slice.row, bound);
    }));
  }
  for (auto& [track, binder] : binders) binder.Finish(bound);
  return OkStatus();
}

FlowPair PairOf(const FlowPoint& from, const FlowPoint& to) {
  return {from.row, to.row, from.slice, to.slice, from.name, from.category, from.flow_id, from.time_ns, to.time_ns};
}

}  // namespace

Result<std::span<const FlowPair>> FlowPairs::Read(OpenPart& part) {
  if (is_made_) return std::span<const FlowPair>(pairs_);
  MemoryCharge memory(part.terms().take_part_memory);
  ASSIGN_OR_RETURN(std::vector<FlowPoint> points, ReadPoints(part, memory));
  {
    MemoryCharge binding(part.terms().take_part_memory);
    RETURN_IF_ERROR(Bind(part, points, binding));
  }
  RETURN_IF_ERROR(part.CheckTime());
  kept_memory_.emplace(part.terms().take_part_memory);
  RETURN_IF_ERROR(kept_memory_->Grow(part.rows(EventKind::kFlow) * static_cast<int64_t>(sizeof(slice_of_[0]))));
  slice_of_.assign(static_cast<size_t>(part.rows(EventKind::kFlow)), kNoValue);
  for (const FlowPoint& point : points) slice_of_[static_cast<size_t>(point.row)] = point.slice;
  SortByFlow(points);
  size_t steps = 0;
  ForEachFlowStep(points, [&steps](const FlowPoint&, const FlowPoint&) {
    ++steps;
    return true;
  });
  RETURN_IF_ERROR(kept_memory_->Grow(static_cast<int64_t>(steps * (sizeof(FlowPair) + 2 * sizeof(by_from_[0])))));
  pairs_.reserve(steps);
  ForEachFlowStep(points, [this](const FlowPoint& from, const FlowPoint& to) {
    pairs_.push_back(PairOf(from, to));
    return true;
  });
  std::sort(pairs_.begin(), pairs_.end(),
            [](const FlowPair& a, const FlowPair& b) { return a.from_point < b.from_point; });
  const auto order_by = [&](int64_t FlowPair::*slice) {
    std::vector<uint32_t> order(pairs_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(pairs_[a].*slice, a) < std::pair(pairs_[b].*slice, b); });
    return order;
  };
  by_from_ = order_by(&FlowPair::from_slice);
  by_to_ = order_by(&FlowPair::to_slice);
  is_made_ = true;
  return std::span<const FlowPair>(pairs_);
}

Result<int64_t> FlowPairs::SliceOf(OpenPart& part, int64_t point) {
  if (!is_made_) RETURN_IF_ERROR(Read(part).status());
  return slice_of_[static_cast<size_t>(point)];
}

std::vector<size_t> FlowPairs::Find(const std::vector<uint32_t>& order, int64_t FlowPair::*slice,
                                    int64_t wanted) const {
  const auto begin = std::lower_bound(order.begin(), order.end(), wanted,
                                      [&](uint32_t at, int64_t value) { return pairs_[at].*slice < value; });
  std::vector<size_t> found;
  for (auto at = begin; at != order.end() && pairs_[*at].*slice == wanted; ++at) found.push_back(*at);
  return found;
}

}  // namespace kprof
