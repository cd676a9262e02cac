#include "daemon/analysis/operators/self_time.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/analysis/operators/part_filter.h"
#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"
#include "storage/trace/format/event_time.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

// Slices of one track, in order: by time, and of one time the longest first.
struct SliceRun {
  uint32_t track = 0;
  size_t size = 0;
  std::span<const int64_t> times;
  std::span<const int64_t> durations;
  std::span<const int64_t> depths;
  // Where each stands: a segment of the cluster, and a row of it; empty where they are those from `first` on of its
  // only one.
  std::span<const uint64_t> places;
  size_t segment = 0;
  uint32_t first = 0;

  size_t SegmentOf(size_t i) const { return places.empty() ? segment : static_cast<size_t>(places[i] >> 32); }
  uint32_t RowOf(size_t i) const {
    return places.empty() ? first + static_cast<uint32_t>(i) : static_cast<uint32_t>(places[i]);
  }
};

constexpr size_t kRowsAtOnce = size_t{4} << 20;
constexpr size_t kMostRowsOfTrack = size_t{8} << 20;

// Goes through the slices of a cluster, track by track in the order of time, whatever order its source had: a cluster
// is segments that overlap in time, which are put together. Each track comes once (unless a hostile part has it in
// pieces).
//
// On the reader's thread. If segments do not overlap, columns are seen as they stand in the cache; if they do, they are
// copied, up to about `kRowsAtOnce` rows together. A track with more than `kMostRowsOfTrack` in segments that overlap
// comes segment by segment: its slices have no depths either.
Status ForEachSliceRun(PartReader& reader, const SegmentCluster& cluster, const StopSignal& stop,
                       const std::function<Status(const SliceRun&)>& see);

struct Columns {
  DecodedColumn times;
  DecodedColumn durations;
  DecodedColumn depths;
};

Result<Columns> ReadColumns(PartReader& reader, const Segment& segment) {
  Columns columns;
  ASSIGN_OR_RETURN(columns.times, reader.Read(segment, EventColumn::kTime));
  ASSIGN_OR_RETURN(columns.durations, reader.Read(segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(columns.depths, reader.Read(segment, EventColumn::kDepth));
  return columns;
}

SliceRun RunOf(const Columns& columns, size_t segment, const TrackRun& run) {
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
    ASSIGN_OR_RETURN(const Columns columns, ReadColumns(reader, cluster[s]));
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

Status ForEachSliceRun(PartReader& reader, const SegmentCluster& cluster, const StopSignal& stop,
                       const std::function<Status(const SliceRun&)>& see) {
  RETURN_IF_ERROR(StillWanted(stop));
  if (cluster.size() == 1) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader, cluster[0]));
    ASSIGN_OR_RETURN(const Columns columns, ReadColumns(reader, cluster[0]));
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
        ASSIGN_OR_RETURN(const Columns columns, ReadColumns(reader, cluster[stretch.segment]));
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

constexpr uint32_t kNoKeyAsked = UINT32_MAX;

struct Open {
  int64_t depth = 0;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t covered = 0;
  int64_t covered_to = 0;
  uint32_t group = kNoKeyAsked;
};

class PartSelfTimes {
 public:
  PartSelfTimes(const TracePart& part, size_t at, const SelfTimeRequest& request, PartFilter filter)
      : reader_(*part.reader), filter_(std::move(filter)), groups_(part, at, request.by, request.most_groups) {}

  Status AddUp(const StopSignal& stop) {
    int64_t last_end = INT64_MIN;
    bool has_begun = false;
    for (const SegmentCluster& cluster : ClustersOf(reader_.segments(EventKind::kSlice))) {
      RETURN_IF_ERROR(StillWanted(stop));
      bool may_match = false;
      for (const Segment& segment : cluster) {
        ASSIGN_OR_RETURN(const bool may, filter_.MayMatch(segment));
        if (!may) continue;
        may_match = true;
        last_end = std::max(last_end, segment.max_end_ns);
      }
      has_begun |= may_match;
      if (!has_begun || (!may_match && cluster.front().min_time_ns > last_end)) continue;
      RETURN_IF_ERROR(NumberRows(cluster));
      RETURN_IF_ERROR(ForEachSliceRun(reader_, cluster, stop, [this](const SliceRun& run) {
        Add(run);
        return OkStatus();
      }));
    }
    for (auto& [track, open] : open_) Close(open, INT64_MIN);
    return OkStatus();
  }

  const std::vector<SelfTime>& times() const { return times_; }
  Result<GroupKey> KeyOf(uint32_t group) { return groups_.KeyOf(group); }

 private:
  Status NumberRows(const SegmentCluster& cluster) {
    numbers_.resize(cluster.size());
    std::vector<uint32_t> of_selected;
    RowSelection selection;
    for (size_t i = 0; i < cluster.size(); ++i) {
      numbers_[i].assign(cluster[i].rows, kNoKeyAsked);
      ASSIGN_OR_RETURN(const bool may, filter_.MayMatch(cluster[i]));
      if (!may) continue;
      RETURN_IF_ERROR(filter_.Select(cluster[i], selection));
      RETURN_IF_ERROR(groups_.Number(cluster[i], selection, of_selected));
      if (selection.all) {
        numbers_[i] = of_selected;
      } else {
        for (size_t at = 0; at < of_selected.size(); ++at) numbers_[i][selection.rows[at]] = of_selected[at];
      }
    }
    times_.resize(groups_.size());
    return OkStatus();
  }

  void Add(const SliceRun& run) {
    std::vector<Open>& open = open_[run.track];
    for (size_t i = 0; i < run.size; ++i) {
      const int64_t depth = run.depths[i];
      const int64_t begin = SafeTime(run.times[i]);
      const int64_t end = SafeEndOf(begin, run.durations[i]);
      const uint32_t group = numbers_[run.SegmentOf(i)][run.RowOf(i)];
      const Open slice{depth, begin, end, 0, begin, group};
      if (depth < 0) {
        if (IsKnown(run.durations[i])) Count(slice);
        continue;
      }
      Close(open, depth);
      if (!IsKnown(run.durations[i])) continue;
      if (!open.empty() && open.back().depth == depth - 1) {
        Open& parent = open.back();
        const int64_t from = std::max(begin, parent.covered_to);
        const int64_t to = std::min(end, parent.end);
        if (to > from) {
          parent.covered += to - from;
          parent.covered_to = to;
        }
      }
      open.push_back(slice);
    }
  }

  // What comes next at that depth is beside those, or beside one that they are in.
  void Close(std::vector<Open>& open, int64_t depth) {
    for (; !open.empty() && open.back().depth >= depth; open.pop_back()) Count(open.back());
  }

  void Count(const Open& slice) {
    if (slice.group == kNoKeyAsked) return;
    SelfTime& time = times_[slice.group];
    ++time.count;
    time.sum_ns = SaturatingSum(time.sum_ns, slice.end - slice.begin);
    time.self_ns = SaturatingSum(time.self_ns, slice.end - slice.begin - slice.covered);
  }

  PartReader& reader_;
  const PartFilter filter_;
  RowGroups groups_;
  std::vector<std::vector<uint32_t>> numbers_;  // of the rows of each segment of the cluster
  std::unordered_map<uint32_t, std::vector<Open>> open_;
  std::vector<SelfTime> times_;
};

}  // namespace

Result<std::vector<SelfTime>> FindSelfTimes(TraceParts parts, const SelfTimeRequest& request, const StopSignal& stop) {
  constexpr int64_t kGroupBytes = sizeof(SelfTime) + 64;  // and of its place in a map
  MemoryCharge memory(request.take_memory);
  std::map<GroupKey, SelfTime> all;
  for (size_t at = 0; at < parts.size(); ++at) {
    ASSIGN_OR_RETURN(PartFilter filter, PartFilter::Bind(request.filter, parts[at], EventKind::kSlice));
    PartSelfTimes part(parts[at], at, request, std::move(filter));
    RETURN_IF_ERROR(part.AddUp(stop));
    for (uint32_t group = 0; group < part.times().size(); ++group) {
      const SelfTime& time = part.times()[group];
      if (time.count == 0) continue;
      ASSIGN_OR_RETURN(GroupKey key, part.KeyOf(group));
      const int64_t bytes = SizeOfKey(key);
      const auto [place, is_new] = all.try_emplace(std::move(key));
      if (is_new) RETURN_IF_ERROR(memory.Grow(bytes + kGroupBytes));
      SelfTime& to = place->second;
      to.count += time.count;
      to.sum_ns = SaturatingSum(to.sum_ns, time.sum_ns);
      to.self_ns = SaturatingSum(to.self_ns, time.self_ns);
    }
  }
  std::vector<SelfTime> found;
  while (!all.empty()) {
    auto group = all.extract(all.begin());
    group.mapped().key = std::move(group.key());
    found.push_back(std::move(group.mapped()));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const SelfTime& a, const SelfTime& b) { return a.self_ns > b.self_ns; });
  if (found.size() > request.top) found.resize(request.top);
  return found;
}

}  // namespace kprof
