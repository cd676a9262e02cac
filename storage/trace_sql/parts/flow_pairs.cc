#include "storage/trace_sql/parts/flow_pairs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "storage/trace/format/flow_rules.h"
#include "storage/trace/read/category_rows.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/parts/slices_in_time.h"

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

// Reads the points of one stretch of time after the other.
class PointReader {
 public:
  explicit PointReader(OpenPart& part) : part_(part), binding_(part) {}

  // In the order of time.
  Result<std::vector<FlowPoint>> Read(const TimeWindow& window, MemoryCharge& memory) {
    std::vector<FlowPoint> points;
    for (const Segment& segment : part_.segments(EventKind::kFlow)) {
      if (segment.max_time_ns < window.first_ns || segment.min_time_ns > window.last_ns) continue;
      RETURN_IF_ERROR(part_.CheckTime());
      RETURN_IF_ERROR(ReadSegment(segment, window, memory, points));
    }
    std::sort(points.begin(), points.end(), [](const FlowPoint& a, const FlowPoint& b) {
      return std::pair(a.time_ns, a.row) < std::pair(b.time_ns, b.row);
    });
    return points;
  }

 private:
  Status ReadSegment(const Segment& segment, const TimeWindow& window, MemoryCharge& memory,
                     std::vector<FlowPoint>& points) {
    SegmentView view(part_, segment);
    ASSIGN_OR_RETURN(const int64_t* times, view.Column(EventColumn::kTime));
    ASSIGN_OR_RETURN(const int64_t* tracks, view.Column(EventColumn::kTrack));
    ASSIGN_OR_RETURN(const int64_t* phases, view.Column(EventColumn::kPhase));
    ASSIGN_OR_RETURN(const int64_t* slices, view.Column(EventColumn::kSlice));
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if (!window.Has(times[row]) || !IsFlowPhase(phases[row])) continue;
      RETURN_IF_ERROR(memory.Grow(sizeof(FlowPoint)));
      FlowPoint point{.time_ns = times[row],
                      .row = segment.first_row + row,
                      .track = tracks[row],
                      .slice = slices[row],
                      .phase = static_cast<char>(phases[row])};
      if (point.slice == kNoValue && point.phase == 'f') {
        ASSIGN_OR_RETURN(const bool is_enclosed, binding_.SaysEnclosing(view, row));
        point.binds_next = !is_enclosed;
      }
      points.push_back(point);
    }
    return OkStatus();
  }

  OpenPart& part_;
  BindingPoints binding_;
};

std::vector<TimeWindow> WindowsOf(const std::vector<std::vector<const Segment*>>& groups) {
  std::vector<TimeWindow> times;
  for (const auto& group : groups) {
    TimeWindow all{group.front()->min_time_ns, group.front()->max_time_ns};
    for (const Segment* segment : group) all.last_ns = std::max(all.last_ns, segment->max_time_ns);
    times.push_back(all);
  }
  return FlowWindowsOf(times);
}

Status CheckSizes(const OpenPart& part, uint32_t most_slices) {
  const bool too_many_points = part.rows(EventKind::kFlow) > FlowSlices::kMostPoints;
  if (!too_many_points && part.rows(EventKind::kSlice) < int64_t{most_slices}) return OkStatus();
  return Fail(ErrorCode::kUsage, "find the flows of trace part " + part.place().path,
              too_many_points ? "it has more than " + std::to_string(FlowSlices::kMostPoints) + " points of flows"
                              : "it has more than " + std::to_string(most_slices) + " slices",
              "ask without flow, and without the slice of flow_point");
}

}  // namespace

Status FlowSlices::Make(OpenPart& part) {
  if (is_made_) return OkStatus();
  RETURN_IF_ERROR(CheckSizes(part, kNone));
  memory_.emplace(part.terms().take_part_memory);
  RETURN_IF_ERROR(memory_->Grow(part.rows(EventKind::kFlow) * static_cast<int64_t>(sizeof(slice_of_[0]))));
  slice_of_.assign(static_cast<size_t>(part.rows(EventKind::kFlow)), kNone);
  const auto keep = [this](const FlowPoint& point) {
    if (point.slice != kNoValue) slice_of_[static_cast<size_t>(point.row)] = static_cast<uint32_t>(point.slice);
  };
  PointReader reader(part);
  std::unordered_map<int64_t, FlowBinder> binders;  // by track
  size_t waiting = 0;
  const auto groups = SegmentGroupsOf(part);
  const std::vector<TimeWindow> windows = WindowsOf(groups);
  for (size_t group = 0; group < windows.size(); ++group) {
    MemoryCharge memory(part.terms().take_part_memory);
    RETURN_IF_ERROR(
        memory.Grow(static_cast<int64_t>(waiting * sizeof(FlowPoint) + binders.size() * sizeof(FlowBinder))));
    {
      ASSIGN_OR_RETURN(const std::vector<FlowPoint> points, reader.Read(windows[group], memory));
      RETURN_IF_ERROR(memory.Grow(static_cast<int64_t>(points.size() * sizeof(FlowPoint))));  // in binders, too
      for (const FlowPoint& point : points) {
        if (point.slice == kNoValue) {
          binders[point.track].AddPoint(point);
        } else if (part.FindSegment(EventKind::kSlice, point.slice) != nullptr) {
          keep(point);
        } else {
          return part.Broken("a flow touches slice " + std::to_string(point.slice) + ", of which there is none");
        }
      }
    }
    if (group == groups.size()) break;  // there are no slices
    int64_t track = kNoValue;
    FlowBinder* binder = nullptr;
    RETURN_IF_ERROR(ReadGroupInTime(part, groups[group], [&](const TimedSlice& slice) {
      if (slice.track != track) {
        track = slice.track;
        const auto found = binders.find(track);
        binder = found == binders.end() ? nullptr : &found->second;
      }
      if (binder != nullptr) binder->AddSlice(slice.time_ns, slice.duration_ns, slice.row, keep);
    }));
    waiting = 0;
    for (auto& [of_track, one] : binders) {
      if (group + 1 < groups.size()) one.AdvanceTo(groups[group + 1].front()->min_time_ns, keep);
      waiting += one.waiting();
    }
  }
  for (auto& [of_track, one] : binders) one.Finish(keep);
  is_made_ = true;
  return OkStatus();
}

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

Result<int64_t> FlowPairs::Count(OpenPart& part) {
  if (part.segments(EventKind::kFlow).empty()) return 0;
  ASSIGN_OR_RETURN(const DecodedColumn count,
                   part.ReadDerived(part.segments(EventKind::kFlow).front(), kFlowPairsColumn,
                                    [&]() -> Result<std::vector<int64_t>> {
                                      RETURN_IF_ERROR(MakePairs(part));
                                      return std::vector<int64_t>{static_cast<int64_t>(pairs_)};
                                    }));
  return count->front();
}

Status FlowPairs::Make(OpenPart& part) {
  RETURN_IF_ERROR(slices_.Make(part));
  return MakePairs(part);
}

Status FlowPairs::MakePairs(OpenPart& part) {
  if (is_made_) return OkStatus();
  RETURN_IF_ERROR(CheckSizes(part, kNone));
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
