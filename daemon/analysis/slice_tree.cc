#include "daemon/analysis/slice_tree.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "daemon/analysis/derived_columns.h"
#include "daemon/analysis/safe_times.h"
#include "daemon/analysis/track_runs.h"

namespace kprof {

SliceTree::SliceTree(PartReader& reader) : reader_(reader), clusters_(ClustersOf(reader.segments(EventKind::kSlice))) {
  for (size_t i = 0; i < clusters_.size(); ++i) {
    for (const Segment& segment : clusters_[i]) cluster_of_.emplace(segment.id, i);
  }
}

Result<SliceTree::Place> SliceTree::PlaceOf(int64_t row) const {
  const std::span<const Segment> segments = reader_.segments(EventKind::kSlice);
  auto after = std::upper_bound(segments.begin(), segments.end(), row,
                                [](int64_t value, const Segment& segment) { return value < segment.first_row; });
  if (row < 0 || after == segments.begin() || row - (after - 1)->first_row >= int64_t{(after - 1)->rows}) {
    return Fail(ErrorCode::kNotFound, "find a slice in trace part " + reader_.path(),
                "it has no slice " + std::to_string(row));
  }
  const Segment& segment = *(after - 1);
  return Place{&segment, static_cast<uint32_t>(row - segment.first_row)};
}

size_t SliceTree::ClusterOf(const Segment& segment) const {
  const auto found = cluster_of_.find(segment.id);
  KPROF_CHECK(found != cluster_of_.end());  // it is a segment of slices of this part
  return found->second;
}

Status SliceTree::Pass(size_t cluster, AllOpen& open, std::vector<std::vector<int64_t>>* parents,
                       const StopSignal& stop) {
  const SegmentCluster& segments = clusters_[cluster];
  if (parents != nullptr) {
    parents->clear();
    for (const Segment& segment : segments) parents->emplace_back(segment.rows, kNoValue);
  }
  RETURN_IF_ERROR(ForEachSliceRun(reader_, segments, stop, [&](const SliceRun& run) {
    std::vector<Open>& chain = open[run.track];
    for (size_t i = 0; i < run.size; ++i) {
      const int64_t depth = run.depths[i];
      if (depth < 0) continue;
      while (!chain.empty() && chain.back().depth >= depth) chain.pop_back();
      const size_t segment = run.SegmentOf(i);
      const uint32_t row = run.RowOf(i);
      if (parents != nullptr && !chain.empty() && chain.back().depth == depth - 1) {
        (*parents)[segment][row] = chain.back().row;
      }
      if (!IsKnown(run.durations[i])) continue;  // holds nothing
      const int64_t end = EndOf(SafeTime(run.times[i]), run.durations[i]);
      chain.push_back({depth, end, segments[segment].first_row + row});
    }
    return OkStatus();
  }));
  // What has ended holds nothing that comes.
  const int64_t next = cluster + 1 < clusters_.size() ? clusters_[cluster + 1].front().min_time_ns : INT64_MAX;
  for (auto& [track, chain] : open) std::erase_if(chain, [&](const Open& one) { return one.end < next; });
  std::erase_if(open, [](const auto& of_track) { return of_track.second.empty(); });
  return OkStatus();
}

Result<SliceTree::AllOpen> SliceTree::OpenAt(size_t cluster, const StopSignal& stop) {
  if (open_at_.empty()) open_at_.emplace_back();
  if (cluster < open_at_.size()) return open_at_[cluster];
  size_t at = open_at_.size() - 1;
  AllOpen open = open_at_[at];
  for (; at < cluster; ++at) {
    RETURN_IF_ERROR(Pass(at, open, nullptr, stop));
    for (const auto& [track, chain] : open) kept_ += chain.size();
    if (kept_ <= kMostKept && open_at_.size() == at + 1) open_at_.push_back(open);
  }
  return open;
}

Result<DecodedColumn> SliceTree::ReadParents(const Segment& segment, const StopSignal& stop) {
  const size_t cluster = ClusterOf(segment);
  return reader_.ReadDerived(segment, kParentsColumn, [&]() -> Result<std::vector<int64_t>> {
    ASSIGN_OR_RETURN(AllOpen open, OpenAt(cluster, stop));
    std::vector<std::vector<int64_t>> parents;
    RETURN_IF_ERROR(Pass(cluster, open, &parents, stop));
    std::vector<int64_t> asked;
    for (size_t i = 0; i < parents.size(); ++i) {
      const Segment& other = clusters_[cluster][i];
      if (other.id == segment.id) {
        asked = std::move(parents[i]);
        continue;
      }
      // They were found together; so they are kept together.
      const auto take = [&]() -> Result<std::vector<int64_t>> { return std::move(parents[i]); };
      RETURN_IF_ERROR(reader_.ReadDerived(other, kParentsColumn, take).status());
    }
    return asked;
  });
}

Result<std::optional<int64_t>> SliceTree::FindParent(int64_t row, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(row));
  ASSIGN_OR_RETURN(const DecodedColumn parents, ReadParents(*place.segment, stop));
  const int64_t parent = (*parents)[place.row];
  return parent == kNoValue ? std::optional<int64_t>() : std::optional(parent);
}

Result<std::vector<int64_t>> SliceTree::FindChildren(int64_t row, size_t most, const StopSignal& stop) {
  ASSIGN_OR_RETURN(const Place place, PlaceOf(row));
  ASSIGN_OR_RETURN(const DecodedColumn times, reader_.Read(*place.segment, EventColumn::kTime));
  ASSIGN_OR_RETURN(const DecodedColumn durations, reader_.Read(*place.segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(const DecodedColumn tracks, reader_.Read(*place.segment, EventColumn::kTrack));
  const int64_t begin = SafeTime((*times)[place.row]);
  const int64_t end = EndOf(begin, (*durations)[place.row]);
  const int64_t track = (*tracks)[place.row];
  std::vector<int64_t> children;
  for (const Segment& segment : reader_.segments(EventKind::kSlice)) {
    if (segment.max_time_ns < begin || segment.min_time_ns > end) continue;
    RETURN_IF_ERROR(StillWanted(stop));
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    for (size_t i = 0; i < runs.size(); ++i) {
      if (int64_t{runs[i].track} != track) continue;
      ASSIGN_OR_RETURN(const DecodedColumn parents, ReadParents(segment, stop));
      for (uint32_t at = runs[i].first; at < runs[i].end; ++at) {
        if ((*parents)[at] != row) continue;
        if (children.size() == most) return children;
        children.push_back(segment.first_row + at);
      }
    }
  }
  return children;
}

Result<std::optional<int64_t>> SliceTree::FindAt(uint32_t track, int64_t time_ns, const StopSignal& stop) {
  // The last to begin that has an end; what the time lies in is it, or one that it is in.
  std::optional<std::tuple<int64_t, int64_t, int64_t>> last;  // its time, less its duration, its row
  for (size_t i = clusters_.size(); i-- > 0 && !last;) {
    if (clusters_[i].front().min_time_ns > time_ns) continue;
    RETURN_IF_ERROR(StillWanted(stop));
    for (const Segment& segment : clusters_[i]) {
      if (segment.min_time_ns > time_ns) continue;
      ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
      for (size_t r = 0; r < runs.size(); ++r) {
        if (runs[r].track != track) continue;
        ASSIGN_OR_RETURN(const DecodedColumn times, reader_.Read(segment, EventColumn::kTime));
        const int64_t* first = times->data() + runs[r].first;
        const int64_t* after = std::upper_bound(first, times->data() + runs[r].end, time_ns);
        ASSIGN_OR_RETURN(const DecodedColumn durations, reader_.Read(segment, EventColumn::kDuration));
        while (after != first && !IsKnown((*durations)[static_cast<size_t>(after - times->data() - 1)])) --after;
        if (after == first) continue;
        const auto row = static_cast<uint32_t>(after - times->data() - 1);
        const std::tuple found((*times)[row], -(*durations)[row], segment.first_row + row);
        if (!last || *last < found) last = found;
      }
    }
  }
  if (!last) return std::optional<int64_t>();
  std::optional<int64_t> row = std::get<2>(*last);
  while (row) {
    ASSIGN_OR_RETURN(const Place place, PlaceOf(*row));
    ASSIGN_OR_RETURN(const DecodedColumn times, reader_.Read(*place.segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader_.Read(*place.segment, EventColumn::kDuration));
    if (EndOf(SafeTime((*times)[place.row]), (*durations)[place.row]) >= time_ns) break;
    ASSIGN_OR_RETURN(row, FindParent(*row, stop));
  }
  return row;
}

Result<std::optional<int64_t>> SliceTree::FindNext(uint32_t track, int64_t time_ns, const StopSignal& stop) {
  std::optional<std::tuple<int64_t, int64_t, int64_t>> next;
  for (const SegmentCluster& cluster : clusters_) {
    if (next) break;
    RETURN_IF_ERROR(StillWanted(stop));
    for (const Segment& segment : cluster) {
      if (segment.max_time_ns < time_ns) continue;
      ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
      for (size_t r = 0; r < runs.size(); ++r) {
        if (runs[r].track != track) continue;
        ASSIGN_OR_RETURN(const DecodedColumn times, reader_.Read(segment, EventColumn::kTime));
        const int64_t* end = times->data() + runs[r].end;
        const int64_t* first = std::lower_bound(times->data() + runs[r].first, end, time_ns);
        if (first == end) continue;
        const auto row = static_cast<uint32_t>(first - times->data());
        ASSIGN_OR_RETURN(const DecodedColumn durations, reader_.Read(segment, EventColumn::kDuration));
        const int64_t duration = (*durations)[row];
        const std::tuple found(*first, IsKnown(duration) ? -duration : 0, segment.first_row + row);
        if (!next || found < *next) next = found;
      }
    }
  }
  if (!next) return std::optional<int64_t>();
  return std::optional(std::get<2>(*next));
}

}  // namespace kprof
