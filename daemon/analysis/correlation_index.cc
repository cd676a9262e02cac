#include "daemon/analysis/correlation_index.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/analysis/derived_columns.h"
#include "daemon/analysis/part_filter.h"
#include "daemon/analysis/track_runs.h"
#include "storage/trace/time_order.h"

namespace kprof {
namespace {

constexpr size_t kSlicesBetweenStops = 65'536;

// First the correlations in their order, then the row of each.
Result<std::vector<int64_t>> MakeIndex(PartReader& reader, const Segment& segment) {
  ASSIGN_OR_RETURN(const DecodedColumn column, reader.ReadOnce(segment, EventColumn::kCorrelation));
  std::vector<int64_t> correlations;
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < segment.rows; ++row) {
    if ((*column)[row] == kNoValue) continue;
    correlations.push_back((*column)[row]);
    rows.push_back(row);
  }
  const std::vector<uint32_t> order = OrderByTime(correlations, {});  // they ascend in runs, as times do
  std::vector<int64_t> index;
  index.reserve(2 * order.size());
  for (const uint32_t i : order) index.push_back(correlations[i]);
  for (const uint32_t i : order) index.push_back(rows[i]);
  return index;
}

struct Side {
  int64_t correlation = 0;
  JoinedSlice slice;
};

Status Collect(const TracePart& part, const EventFilter& filter, size_t most, const StopSignal& stop,
               std::vector<Side>& slices) {
  PartReader& reader = *part.reader;
  ASSIGN_OR_RETURN(const PartFilter bound, PartFilter::Bind(filter, part, EventKind::kSlice));
  RETURN_IF_ERROR(bound.ForEach(stop, [&](const Segment& segment, const RowSelection& selection) -> Status {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds || bounds->max == kNoValue) return OkStatus();
    ASSIGN_OR_RETURN(const DecodedColumn correlations, reader.Read(segment, EventColumn::kCorrelation));
    ASSIGN_OR_RETURN(const DecodedColumn times, reader.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader.Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(const DecodedColumn names, reader.Read(segment, EventColumn::kName));
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader, segment));
    const size_t rows = selection.all ? segment.rows : selection.rows.size();
    size_t run = 0;
    for (size_t i = 0; i < rows; ++i) {
      const uint32_t row = selection.all ? static_cast<uint32_t>(i) : selection.rows[i];
      if ((*correlations)[row] == kNoValue) continue;
      while (runs[run].end <= row) ++run;
      slices.push_back({(*correlations)[row],
                        {segment.first_row + row, (*times)[row], (*durations)[row], runs[run].track, (*names)[row]}});
    }
    if (slices.size() <= most) return OkStatus();
    return Fail(ErrorCode::kUsage, "join slices of trace part " + reader.path() + " by correlation",
                "there are more than " + std::to_string(most), "ask for a shorter time or fewer tracks");
  }));
  std::sort(slices.begin(), slices.end(), [](const Side& a, const Side& b) {
    return std::pair(a.correlation, a.slice.row) < std::pair(b.correlation, b.slice.row);
  });
  return OkStatus();
}

}  // namespace

Result<std::vector<int64_t>> FindCorrelated(PartReader& reader, int64_t correlation, size_t most,
                                            const StopSignal& stop) {
  std::vector<int64_t> rows;
  if (correlation == kNoValue) return rows;
  for (const Segment& segment : reader.segments(EventKind::kSlice)) {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds || correlation < bounds->min || correlation > bounds->max) continue;
    RETURN_IF_ERROR(StillWanted(stop));
    ASSIGN_OR_RETURN(const DecodedColumn index,
                     reader.ReadDerived(segment, kCorrelationsColumn, [&] { return MakeIndex(reader, segment); }));
    const auto end = index->begin() + static_cast<ptrdiff_t>(index->size() / 2);
    const auto [first, last] = std::equal_range(index->begin(), end, correlation);
    for (auto at = first; at != last; ++at) {
      if (rows.size() == most) return rows;
      rows.push_back(segment.first_row + *(end + (at - index->begin())));
    }
  }
  return rows;
}

Status JoinCorrelated(const TracePart& part, const CorrelationRequest& request, const StopSignal& stop,
                      const std::function<bool(const CorrelatedPair&)>& see) {
  std::vector<Side> from;
  std::vector<Side> to;
  RETURN_IF_ERROR(Collect(part, request.from, request.most_slices, stop, from));
  RETURN_IF_ERROR(Collect(part, request.to, request.most_slices, stop, to));
  size_t first = 0;
  size_t seen = 0;
  for (const Side& one : from) {
    while (first < to.size() && to[first].correlation < one.correlation) ++first;
    for (size_t i = first; i < to.size() && to[i].correlation == one.correlation; ++i) {
      if (++seen % kSlicesBetweenStops == 0) RETURN_IF_ERROR(StillWanted(stop));
      if (to[i].slice.row == one.slice.row) continue;
      if (!see({one.correlation, one.slice, to[i].slice})) return OkStatus();
    }
  }
  return OkStatus();
}

}  // namespace kprof
