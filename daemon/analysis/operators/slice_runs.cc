#include "daemon/analysis/operators/slice_runs.h"

#include <map>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/row_indexes.h"
#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

constexpr size_t kRowsAtOnce = size_t{4} << 20;
constexpr size_t kMostRowsOfTrack = size_t{8} << 20;

struct RunColumns {
  DecodedColumn times;
  DecodedColumn durations;
  DecodedColumn depths;
};

Result<RunColumns> ReadRunColumns(PartReader& reader, const Segment& segment) {
  RunColumns columns;
  ASSIGN_OR_RETURN(columns.times, reader.Read(segment, EventColumn::kTime));
  ASSIGN_OR_RETURN(columns.durations, reader.Read(segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(columns.depths, reader.Read(segment, EventColumn::kDepth));
  return columns;
}

SliceRun RunOf(const RunColumns& columns, size_t segment, const TrackRun& run) {
  const size_t size = run.end - run.first;
  return {.track = run.track,
          .size = size,
          .times = std::span(*columns.times).subspan(run.first, size),
          .durations = std::span(*columns.durations).subspan(run.first, size),
          .depths = std::span(*columns.depths).subspan(run.first, size),
          .segment = segment,
          .first = run.first};
}

// A run of rows of one segment of the cluster.
struct Stretch {
  size_t segment = 0;
  TrackRun run;
};

struct Merged {
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> depths;
  std::vector<uint64_t> places;

  void Reserve(size_t rows) {
    for (std::vector<int64_t>* column : {&times, &durations, &depths}) column->reserve(rows);
    places.reserve(rows);
  }
};

size_t RowsOf(const std::vector<Stretch>& stretches) {
  size_t rows = 0;
  for (const Stretch& stretch : stretches) rows += stretch.run.end - stretch.run.first;
  return rows;
}

Status SeeMerged(Merged& merged, uint32_t track, const std::function<Status(const SliceRun&)>& see) {
  const std::vector<uint32_t> order = OrderByTime(merged.times, merged.durations);
  Merged sorted;
  sorted.Reserve(order.size());
  for (const uint32_t i : order) {
    sorted.times.push_back(merged.times[i]);
    sorted.durations.push_back(merged.durations[i]);
    sorted.depths.push_back(merged.depths[i]);
    sorted.places.push_back(merged.places[i]);
  }
  merged = {};
  return see({.track = track,
              .size = order.size(),
              .times = sorted.times,
              .durations = sorted.durations,
              .depths = sorted.depths,
              .places = sorted.places});
}

// Some tracks of a cluster, whole.
Status SeeTracks(PartReader& reader, const SegmentCluster& cluster,
                 const std::vector<std::pair<uint32_t, const std::vector<Stretch>*>>& tracks,
                 const std::function<Status(const SliceRun&)>& see) {
  std::vector<Merged> merged(tracks.size());
  std::vector<std::vector<std::pair<size_t, TrackRun>>> work(cluster.size());
  for (size_t i = 0; i < tracks.size(); ++i) {
    merged[i].Reserve(RowsOf(*tracks[i].second));
    for (const Stretch& stretch : *tracks[i].second) work[stretch.segment].emplace_back(i, stretch.run);
  }
  for (size_t s = 0; s < cluster.size(); ++s) {
    if (work[s].empty()) continue;
    ASSIGN_OR_RETURN(const RunColumns columns, ReadRunColumns(reader, cluster[s]));
    for (const auto& [i, run] : work[s]) {
      for (uint32_t row = run.first; row < run.end; ++row) {
        merged[i].times.push_back((*columns.times)[row]);
        merged[i].durations.push_back((*columns.durations)[row]);
        merged[i].depths.push_back((*columns.depths)[row]);
        merged[i].places.push_back(uint64_t{s} << 32 | row);
      }
    }
  }
  for (size_t i = 0; i < tracks.size(); ++i) RETURN_IF_ERROR(SeeMerged(merged[i], tracks[i].first, see));
  return OkStatus();
}

}  // namespace

Status ForEachSliceRun(PartReader& reader, const SegmentCluster& cluster, const StopSignal& stop,
                       const std::function<Status(const SliceRun&)>& see) {
  RETURN_IF_ERROR(StillWanted(stop));
  if (cluster.size() == 1) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader, cluster[0]));
    ASSIGN_OR_RETURN(const RunColumns columns, ReadRunColumns(reader, cluster[0]));
    for (size_t i = 0; i < runs.size(); ++i) RETURN_IF_ERROR(see(RunOf(columns, 0, runs[i])));
    return OkStatus();
  }
  std::map<uint32_t, std::vector<Stretch>> of_tracks;
  for (size_t s = 0; s < cluster.size(); ++s) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader, cluster[s]));
    for (size_t i = 0; i < runs.size(); ++i) of_tracks[runs[i].track].push_back({s, runs[i]});
  }
  std::vector<std::pair<uint32_t, const std::vector<Stretch>*>> together;
  size_t rows = 0;
  for (const auto& [track, stretches] : of_tracks) {
    const size_t of_track = RowsOf(stretches);
    if (of_track > kMostRowsOfTrack) {
      for (const Stretch& stretch : stretches) {
        ASSIGN_OR_RETURN(const RunColumns columns, ReadRunColumns(reader, cluster[stretch.segment]));
        RETURN_IF_ERROR(see(RunOf(columns, stretch.segment, stretch.run)));
      }
      continue;
    }
    if (!together.empty() && rows + of_track > kRowsAtOnce) {
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(SeeTracks(reader, cluster, together, see));
      together.clear();
      rows = 0;
    }
    together.emplace_back(track, &stretches);
    rows += of_track;
  }
  return SeeTracks(reader, cluster, together, see);
}

}  // namespace kprof
