#include "storage/trace_sql/parts/flow_pairs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/trace/format/flow_chains.h"
#include "storage/trace/format/flow_point.h"
#include "storage/trace_sql/parts/segment_view.h"

namespace kprof {
namespace {

constexpr int64_t kLabelBytes = 80;  // of one in a map

Result<std::vector<ChainPoint>> ReadPoints(OpenPart& part, MemoryCharge& memory) {
  RETURN_IF_ERROR(memory.Grow(part.rows(EventKind::kFlow) * static_cast<int64_t>(sizeof(ChainPoint))));
  std::vector<ChainPoint> points;
  points.reserve(static_cast<size_t>(part.rows(EventKind::kFlow)));
  std::map<std::pair<int64_t, int64_t>, uint32_t> labels;  // of categories and names
  auto last = labels.end();
  for (const Segment& segment : part.segments(EventKind::kFlow)) {
    RETURN_IF_ERROR(part.CheckTime());
    SegmentView view(part, segment);
    ASSIGN_OR_RETURN(const int64_t* times, view.Column(EventColumn::kTime));
    ASSIGN_OR_RETURN(const int64_t* names, view.Column(EventColumn::kName));
    ASSIGN_OR_RETURN(const int64_t* categories, view.Column(EventColumn::kCategory));
    ASSIGN_OR_RETURN(const int64_t* ids, view.Column(EventColumn::kFlowId));
    ASSIGN_OR_RETURN(const int64_t* phases, view.Column(EventColumn::kPhase));
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if (!IsFlowPhase(phases[row])) continue;
      const std::pair label(categories[row], names[row]);
      if (last == labels.end() || last->first != label) {
        bool is_new = false;
        std::tie(last, is_new) = labels.try_emplace(label, static_cast<uint32_t>(labels.size()));
        if (is_new) RETURN_IF_ERROR(memory.Grow(kLabelBytes));
      }
      points.push_back({.flow_id = ids[row],
                        .time_ns = times[row],
                        .row = static_cast<uint32_t>(segment.first_row + row),
                        .label = last->second,
                        .phase = ChainPhaseOf(phases[row])});
    }
  }
  return points;
}

}  // namespace

Status FlowPairs::Make(OpenPart& part) {
  if (is_made_) return OkStatus();
  RETURN_IF_ERROR(slices_.Make(part));
  MemoryCharge reading(part.terms().take_part_memory);
  ASSIGN_OR_RETURN(std::vector<ChainPoint> points, ReadPoints(part, reading));
  memory_.emplace(part.terms().take_part_memory);
  RETURN_IF_ERROR(memory_->Grow(part.rows(EventKind::kFlow) * static_cast<int64_t>(sizeof(next_[0]))));
  next_.assign(static_cast<size_t>(part.rows(EventKind::kFlow)), kNone);
  pairs_ = 0;
  SortByFlow(points);
  ForEachFlowStep(points, [this](const ChainPoint& from, const ChainPoint& to) {
    next_[from.row] = to.row;
    ++pairs_;
    return true;
  });
  is_made_ = true;
  return OkStatus();
}

FlowPairs::Pair FlowPairs::NextFrom(int64_t point) const {
  const auto from = std::find_if(next_.begin() + std::min(point, static_cast<int64_t>(next_.size())), next_.end(),
                                 [](uint32_t next) { return next != kNone; });
  return from == next_.end() ? Pair() : PairFrom(from - next_.begin());
}

Result<std::vector<FlowPairs::Pair>> FlowPairs::Find(OpenPart& part, Index& index, int64_t Pair::*end, int64_t slice) {
  const auto slice_of = [&](uint32_t point) { return SliceOf(PairFrom(point).*end); };
  if (!index.is_made) {
    index.memory.emplace(part.terms().take_part_memory);
    RETURN_IF_ERROR(index.memory->Grow(static_cast<int64_t>(pairs_ * sizeof(index.points[0]))));
    index.points.clear();
    index.points.reserve(pairs_);
    for (uint32_t point = 0; point < next_.size(); ++point) {
      if (next_[point] != kNone) index.points.push_back(point);
    }
    std::sort(index.points.begin(), index.points.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(slice_of(a), a) < std::pair(slice_of(b), b); });
    index.is_made = true;
  }
  std::vector<Pair> found;
  const auto first = std::lower_bound(index.points.begin(), index.points.end(), slice,
                                      [&](uint32_t point, int64_t wanted) { return slice_of(point) < wanted; });
  for (auto point = first; point != index.points.end() && slice_of(*point) == slice; ++point) {
    found.push_back(PairFrom(*point));
  }
  return found;
}

}  // namespace kprof
