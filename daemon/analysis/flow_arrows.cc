#include "daemon/analysis/flow_arrows.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/part_filter.h"
#include "daemon/analysis/track_runs.h"
#include "storage/trace/flow_chains.h"

namespace kprof {
namespace {

class Points {
 public:
  Points(const TracePart& part, const FlowRequest& request) : part_(part), reader_(*part.reader), request_(request) {}

  Result<std::vector<FlowPoint>> Collect(const StopSignal& stop) {
    ASSIGN_OR_RETURN(const PartFilter filter, PartFilter::Bind(request_.filter, part_, EventKind::kFlow));
    if (filter.never()) return std::move(points_);
    ASSIGN_OR_RETURN(bp_, reader_.FindString("bp"));
    ASSIGN_OR_RETURN(e_, reader_.FindString("e"));
    RETURN_IF_ERROR(filter.ForEach(
        stop, [this](const Segment& segment, const RowSelection& selection) { return Add(segment, selection); }));
    SortByFlow(points_);
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
      if (!IsFlowPhase(phase)) continue;
      points_.push_back({.category = (*categories)[row],
                         .name = (*names)[row],
                         .flow_id = (*ids)[row],
                         .time_ns = (*times)[row],
                         .row = segment.first_row + row,
                         .track = runs[run].track,
                         .slice = slice >= 0 && slice < reader_.rows(EventKind::kSlice) ? slice : kNoValue,
                         .phase = static_cast<char>(phase),
                         .binds_next = phase == 'f' && enclosing[row] == 0});
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
    for (auto slot = static_cast<uint32_t>(slots.size()); slot-- > 0;) {
      if (slots[slot].key != *bp_ || slots[slot].type != ArgType::kString || !slots[slot].of_event) continue;
      return reader_.ReadArg(segment, static_cast<uint32_t>(shape), slot);
    }
    return DecodedColumn();
  }

  const TracePart& part_;
  PartReader& reader_;
  const FlowRequest& request_;
  std::optional<int64_t> bp_;
  std::optional<int64_t> e_;
  std::vector<FlowPoint> points_;
};

Result<FlowEnd> EndOf(const FlowPoint& point, SliceTree& tree, const StopSignal& stop) {
  const auto track = static_cast<uint32_t>(point.track);
  FlowEnd end{point.row, point.time_ns, track, {}};
  if (point.slice != kNoValue) {
    end.slice = point.slice;
  } else if (point.binds_next) {
    ASSIGN_OR_RETURN(end.slice, tree.FindNext(track, point.time_ns, stop));
  } else {
    ASSIGN_OR_RETURN(end.slice, tree.FindAt(track, point.time_ns, stop));
  }
  return end;
}

}  // namespace

Status FindFlowArrows(const TracePart& part, const FlowRequest& request, SliceTree& tree, const StopSignal& stop,
                      const std::function<bool(const FlowArrow&)>& see) {
  ASSIGN_OR_RETURN(const std::vector<FlowPoint> points, Points(part, request).Collect(stop));
  std::optional<FlowEnd> last;  // that an arrow ended at: often the next one leads on from there
  Status status;
  const auto see_step = [&](const FlowPoint& from, const FlowPoint& to) -> Result<bool> {
    RETURN_IF_ERROR(StillWanted(stop));
    if (!last || last->row != from.row) {
      ASSIGN_OR_RETURN(last, EndOf(from, tree, stop));
    }
    ASSIGN_OR_RETURN(const FlowEnd end, EndOf(to, tree, stop));
    const FlowArrow arrow{*std::exchange(last, end), end, to.flow_id, to.name, to.category};
    return see(arrow);
  };
  ForEachFlowStep(points, [&](const FlowPoint& from, const FlowPoint& to) {
    const Result<bool> goes_on = see_step(from, to);
    if (!goes_on.ok()) status = goes_on.status();
    return goes_on.ok() && *goes_on;
  });
  return status;
}

}  // namespace kprof
