#include "storage/trace_sql/flow_pairs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "storage/trace_sql/segment_view.h"
#include "storage/trace_sql/slice_sweep.h"

namespace kprof {
namespace {

struct Point {
  int64_t time_ns;
  int64_t track;
  int64_t name;
  int64_t category;
  int64_t flow_id;
  int64_t row;
  int64_t slice;
  char phase;
  bool binds_next;
};

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

Result<std::vector<Point>> ReadPoints(OpenPart& part) {
  if (part.rows(EventKind::kFlow) > kMostFlowPoints) {
    return Fail(ErrorCode::kUsage, "find the flows of trace part " + part.place().path,
                "it has more than " + std::to_string(kMostFlowPoints) + " points of flows", "ask without flow");
  }
  std::vector<Point> points;
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
      const bool is_known = phases[row] == 's' || phases[row] == 't' || phases[row] == 'f';
      if (!is_known) continue;
      Point point{times[row],  tracks[row],
                  names[row],  categories[row],
                  ids[row],    segment.first_row + row,
                  slices[row], static_cast<char>(phases[row]),
                  false};
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

// The slices of a track that have not ended, while points and slices go by in the order of time.
class Binder {
 public:
  Binder(std::vector<Point>& points, std::vector<uint32_t> order) : points_(points), order_(std::move(order)) {}

  void See(const SweptSlice& slice) {
    BindBefore(slice.time_ns);
    for (; waits_ < next_; ++waits_) {
      Point& point = points_[order_[waits_]];
      if (point.binds_next && point.slice == kNoValue) point.slice = slice.row;
    }
    // One that begins just where a point lies is the next one.
    for (size_t at = next_; at < order_.size() && points_[order_[at]].time_ns == slice.time_ns; ++at) {
      Point& point = points_[order_[at]];
      if (point.binds_next && point.slice == kNoValue) point.slice = slice.row;
    }
    if (slice.duration_ns < 0) return;
    int64_t end_ns = 0;
    if (__builtin_add_overflow(slice.time_ns, slice.duration_ns, &end_ns)) end_ns = INT64_MAX;
    while (!open_.empty() && open_.back().end_ns < slice.time_ns) open_.pop_back();
    open_.push_back({end_ns, slice.row});
  }
  void Finish() { BindBefore(INT64_MAX); }

 private:
  struct Open {
    int64_t end_ns;
    int64_t row;
  };

  // The points before a time, of which all slices that could hold them were seen.
  void BindBefore(int64_t time_ns) {
    for (; next_ < order_.size() && points_[order_[next_]].time_ns < time_ns; ++next_) {
      Point& point = points_[order_[next_]];
      if (point.slice != kNoValue || point.binds_next) continue;
      while (!open_.empty() && open_.back().end_ns < point.time_ns) open_.pop_back();
      const auto holds =
          std::find_if(open_.rbegin(), open_.rend(), [&](const Open& open) { return open.end_ns >= point.time_ns; });
      if (holds != open_.rend()) point.slice = holds->row;
    }
  }

  std::vector<Point>& points_;
  const std::vector<uint32_t> order_;  // those of the track, by time
  size_t next_ = 0;
  size_t waits_ = 0;  // before next_: those that may wait for the next slice
  std::vector<Open> open_;
};

Status Bind(OpenPart& part, std::vector<Point>& points) {
  std::unordered_map<int64_t, std::vector<uint32_t>> of_tracks;
  for (uint32_t i = 0; i < points.size(); ++i) {
    if (points[i].slice == kNoValue) of_tracks[points[i].track].push_back(i);
  }
  if (of_tracks.empty()) return OkStatus();
  std::unordered_map<int64_t, Binder> binders;
  for (auto& [track, order] : of_tracks) {
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(points[a].time_ns, points[a].row) < std::pair(points[b].time_ns, points[b].row);
    });
    binders.try_emplace(track, points, std::move(order));
  }
  for (const auto& group : SliceGroups(part)) {
    int64_t track = kNoValue;
    Binder* binder = nullptr;
    RETURN_IF_ERROR(SweepGroup(part, group, [&](const SweptSlice& slice) {
      if (slice.track != track) {
        track = slice.track;
        const auto found = binders.find(track);
        binder = found == binders.end() ? nullptr : &found->second;
      }
      if (binder != nullptr) binder->See(slice);
    }));
  }
  for (auto& [track, binder] : binders) binder.Finish();
  return OkStatus();
}

int RankOf(char phase) {
  return phase == 's' ? 0 : phase == 't' ? 1 : 2;
}

FlowPair PairOf(const Point& from, const Point& to) {
  return {from.row, to.row, from.slice, to.slice, from.name, from.category, from.flow_id, from.time_ns, to.time_ns};
}

// Points of one flow, in the order of time.
void Pair(std::span<const Point* const> points, std::vector<FlowPair>& pairs) {
  if (points.size() == 2 && points[0]->phase == 'f' && points[1]->phase == 's') {
    pairs.push_back(PairOf(*points[1], *points[0]));
    return;
  }
  const Point* before = nullptr;
  for (const Point* point : points) {
    if (before != nullptr && point->phase != 's') pairs.push_back(PairOf(*before, *point));
    if (point->phase == 's' || (point->phase == 't' && before != nullptr)) before = point;
    if (point->phase == 'f') before = nullptr;
  }
}

}  // namespace

Result<std::span<const FlowPair>> FlowPairs::Read(OpenPart& part) {
  if (is_made_) return std::span<const FlowPair>(pairs_);
  ASSIGN_OR_RETURN(std::vector<Point> points, ReadPoints(part));
  RETURN_IF_ERROR(Bind(part, points));
  RETURN_IF_ERROR(part.CheckTime());
  std::vector<const Point*> sorted;
  for (const Point& point : points) sorted.push_back(&point);
  const auto flow = [](const Point* point) { return std::tie(point->category, point->name, point->flow_id); };
  std::sort(sorted.begin(), sorted.end(), [&](const Point* a, const Point* b) {
    return std::tuple(flow(a), a->time_ns, RankOf(a->phase), a->row) <
           std::tuple(flow(b), b->time_ns, RankOf(b->phase), b->row);
  });
  for (size_t first = 0; first < sorted.size();) {
    size_t last = first + 1;
    while (last < sorted.size() && flow(sorted[last]) == flow(sorted[first])) ++last;
    Pair(std::span(sorted).subspan(first, last - first), pairs_);
    first = last;
  }
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

std::vector<size_t> FlowPairs::Find(const std::vector<uint32_t>& order, int64_t FlowPair::*slice,
                                    int64_t wanted) const {
  const auto begin = std::lower_bound(order.begin(), order.end(), wanted,
                                      [&](uint32_t at, int64_t value) { return pairs_[at].*slice < value; });
  std::vector<size_t> found;
  for (auto at = begin; at != order.end() && pairs_[*at].*slice == wanted; ++at) found.push_back(*at);
  return found;
}

}  // namespace kprof
