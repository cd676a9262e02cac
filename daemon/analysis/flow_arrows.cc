#include "daemon/analysis/flow_arrows.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/part_filter.h"
#include "daemon/analysis/track_runs.h"

namespace kprof {
namespace {

struct Point {
  int64_t category = 0;
  int64_t id = 0;
  int64_t time = 0;
  int64_t row = 0;
  int64_t slice = kNoValue;
  int64_t name = 0;
  uint32_t track = 0;
  char phase = 0;
  bool binds_enclosing = false;  // bp is "e"

  bool operator<(const Point& other) const {
    return std::tie(category, id, time, row) < std::tie(other.category, other.id, other.time, other.row);
  }
};

class Points {
 public:
  Points(const TracePart& part, const FlowRequest& request) : part_(part), reader_(*part.reader), request_(request) {}

  Result<std::vector<Point>> Collect(const StopSignal& stop) {
    ASSIGN_OR_RETURN(const PartFilter filter, PartFilter::Bind(request_.filter, part_, EventKind::kFlow));
    if (filter.never()) return std::move(points_);
    ASSIGN_OR_RETURN(bp_, reader_.FindString("bp"));
    ASSIGN_OR_RETURN(e_, reader_.FindString("e"));
    RETURN_IF_ERROR(filter.ForEach(
        stop, [this](const Segment& segment, const RowSelection& selection) { return Add(segment, selection); }));
    std::sort(points_.begin(), points_.end());
    return std::move(points_);
  }

 private:
  Status Add(const Segment& segment, const RowSelection& selection) {
    ASSIGN_OR_RETURN(const DecodedColumn times, reader_.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn names, reader_.Read(segment, EventColumn::kName));
    ASSIGN_OR_RETURN(const DecodedColumn categories, reader_.Read(segment, EventColumn::kCategory));
    ASSIGN_OR_RETURN(const DecodedColumn ids, reader_.Read(segment, EventColumn::kFlowId));
    ASSIGN_OR_RETURN(const DecodedColumn phases, reader_.Read(segment, EventColumn::kPhase));
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    ASSIGN_OR_RETURN(const std::vector<uint8_t> enclosing, FindEnclosing(segment));
    DecodedColumn slices;
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> has_slices, reader_.ReadBounds(segment, EventColumn::kSlice));
    if (has_slices) {
      ASSIGN_OR_RETURN(slices, reader_.Read(segment, EventColumn::kSlice));
    }
    const size_t rows = selection.all ? segment.rows : selection.rows.size();
    if (points_.size() + rows > request_.most_points) {
      return Fail(ErrorCode::kUsage, "find arrows in trace part " + reader_.path(),
                  "there are more than " + std::to_string(request_.most_points) + " flow points",
                  "ask for a shorter time or fewer tracks");
    }
    size_t run = 0;
    for (size_t i = 0; i < rows; ++i) {
      const uint32_t row = selection.all ? static_cast<uint32_t>(i) : selection.rows[i];
      while (runs[run].end <= row) ++run;
      const int64_t slice = slices ? (*slices)[row] : kNoValue;
      const int64_t phase = (*phases)[row];
      points_.push_back({.category = (*categories)[row],
                         .id = (*ids)[row],
                         .time = (*times)[row],
                         .row = segment.first_row + row,
                         .slice = slice >= 0 && slice < reader_.rows(EventKind::kSlice) ? slice : kNoValue,
                         .name = (*names)[row],
                         .track = runs[run].track,
                         .phase = phase == 's' || phase == 't' || phase == 'f' ? static_cast<char>(phase) : '\0',
                         .binds_enclosing = enclosing[row] != 0});
    }
    return OkStatus();
  }

  // Of each row, whether it has bp: "e".
  Result<std::vector<uint8_t>> FindEnclosing(const Segment& segment) {
    std::vector<uint8_t> enclosing(segment.rows);
    if (!bp_ || !e_) return enclosing;
    ASSIGN_OR_RETURN(const DecodedColumn shapes, reader_.Read(segment, EventColumn::kShape));
    struct Bp {
      DecodedColumn values;  // of the rows of a shape; null where it has no bp
      size_t next = 0;
    };
    std::unordered_map<int64_t, Bp> of_shapes;
    for (uint32_t row = 0; row < segment.rows; ++row) {
      const int64_t shape = (*shapes)[row];
      const auto [found, is_new] = of_shapes.try_emplace(shape);
      if (is_new) {
        ASSIGN_OR_RETURN(found->second.values, ReadBp(segment, shape));
      }
      Bp& bp = found->second;
      if (!bp.values) continue;
      if (bp.next < bp.values->size()) enclosing[row] = (*bp.values)[bp.next] == *e_ ? 1 : 0;
      ++bp.next;
    }
    return enclosing;
  }

  Result<DecodedColumn> ReadBp(const Segment& segment, int64_t shape) {
    if (shape < 0 || shape >= static_cast<int64_t>(reader_.shapes().size())) {
      return reader_.Broken("segment " + std::to_string(segment.id) + " has events of shape " + std::to_string(shape) +
                            ", which is none");
    }
    const ArgShape& slots = reader_.shapes()[static_cast<size_t>(shape)];
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].key == *bp_ && slots[slot].type == ArgType::kString) {
        return reader_.ReadArg(segment, static_cast<uint32_t>(shape), slot);
      }
    }
    return DecodedColumn();
  }

  const TracePart& part_;
  PartReader& reader_;
  const FlowRequest& request_;
  std::optional<int64_t> bp_;
  std::optional<int64_t> e_;
  std::vector<Point> points_;
};

Result<FlowEnd> EndOf(const Point& point, SliceTree& tree, const StopSignal& stop) {
  FlowEnd end{point.row, point.time, point.track, {}};
  if (point.slice != kNoValue) {
    end.slice = point.slice;
  } else if (point.phase == 'f' && !point.binds_enclosing) {
    ASSIGN_OR_RETURN(end.slice, tree.FindNext(point.track, point.time, stop));
  } else {
    ASSIGN_OR_RETURN(end.slice, tree.FindAt(point.track, point.time, stop));
  }
  return end;
}

}  // namespace

Status FindFlowArrows(const TracePart& part, const FlowRequest& request, SliceTree& tree, const StopSignal& stop,
                      const std::function<bool(const FlowArrow&)>& see) {
  ASSIGN_OR_RETURN(const std::vector<Point> points, Points(part, request).Collect(stop));
  std::optional<FlowEnd> from;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const bool is_other =
        i > 0 && std::tie(point.category, point.id) != std::tie(points[i - 1].category, points[i - 1].id);
    if (is_other) from.reset();
    // What neither begins nor goes on from anything touches nothing.
    if (point.phase == '\0' || (point.phase != 's' && !from)) continue;
    RETURN_IF_ERROR(StillWanted(stop));
    ASSIGN_OR_RETURN(const FlowEnd here, EndOf(point, tree, stop));
    if (point.phase != 's' && !see({*from, here, point.id, point.name, point.category})) return OkStatus();
    from = point.phase == 'f' ? std::optional<FlowEnd>() : here;
  }
  return OkStatus();
}

}  // namespace kprof
