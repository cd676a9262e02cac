#include "storage/trace/slice_pass.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/trace/column_store.h"
#include "storage/trace/event_time.h"
#include "storage/trace/slice_nesting.h"
#include "storage/trace/time_order.h"

namespace kprof {
namespace {

static_assert(kMostDepth <= std::numeric_limits<int16_t>::max());

// Rows of one track in one segment.
struct Stretch {
  size_t segment = 0;  // of the cluster
  size_t first = 0;
  size_t count = 0;
};

// Columns of some rows.
struct Slices {
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> tracks;
  std::vector<int64_t> names;

  // For all of them: growing would need twice as much.
  void Reserve(std::span<const Stretch> stretches) {
    size_t rows = 0;
    for (const Stretch& stretch : stretches) rows += stretch.count;
    for (const auto column : {&Slices::times, &Slices::durations, &Slices::tracks, &Slices::names}) {
      (this->*column).reserve(rows);
    }
  }
  void Append(const Slices& from, size_t first, size_t count) {
    for (const auto column : {&Slices::times, &Slices::durations, &Slices::tracks, &Slices::names}) {
      const auto begin = (from.*column).begin() + static_cast<ptrdiff_t>(first);
      (this->*column).insert((this->*column).end(), begin, begin + static_cast<ptrdiff_t>(count));
    }
  }
};

class Pass {
 public:
  Pass(Db& db, DetailLevels& levels, const std::stop_token& stop, const SlicePassLimits& limits)
      : db_(db), levels_(levels), stop_(stop), limits_(limits) {}

  // Whether slices of `later`, all of which begin at `end`, stand behind those of `earlier`, all of which end there, in
  // the order of a trace: so do pieces that were cut of one ordered whole, and pieces of several mostly.
  Result<bool> Follow(std::span<const SliceSegment> earlier, std::span<const SliceSegment> later, int64_t end) {
    if (followed_at_ == end) return true;
    std::unordered_map<int64_t, int64_t> shortest;  // by track, of those of that time
    for (const SliceSegment& segment : earlier) {
      if (segment.max_time_ns == end) RETURN_IF_ERROR(AddShortest(segment, end, shortest).status());
    }
    for (const SliceSegment& segment : later) {
      ASSIGN_OR_RETURN(const bool in_order, AddShortest(segment, end, shortest));
      if (!in_order) return false;
    }
    followed_at_ = end;  // that goes for those of `later` among themselves, too
    return true;
  }

  // Segments that overlap in time, and none of the others does.
  Status Add(std::span<const SliceSegment> cluster) {
    RETURN_IF_ERROR(CheckStop());
    return cluster.size() == 1 ? AddOne(cluster.front()) : AddMany(cluster);
  }
  MadeDepths made() const { return {without_depth_, nesting_.crowded()}; }

 private:
  Status CheckStop() const {
    if (!stop_.stop_requested()) return OkStatus();
    return Fail(ErrorCode::kCancelled, "write the trace part", "it was cancelled");
  }

  // Whether none of its slices of that time is longer than one before it on its track.
  Result<bool> AddShortest(const SliceSegment& segment, int64_t time, std::unordered_map<int64_t, int64_t>& shortest) {
    RETURN_IF_ERROR(CheckStop());
    ASSIGN_OR_RETURN(const std::vector<int64_t> times, Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const std::vector<int64_t> durations, Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, Read(segment, EventColumn::kTrack));
    bool in_order = true;
    for (size_t row = 0; row < times.size(); ++row) {
      if (times[row] != time) continue;
      const auto [found, is_new] = shortest.try_emplace(tracks[row], durations[row]);
      in_order &= durations[row] <= found->second;
      found->second = std::min(found->second, durations[row]);
    }
    return in_order;
  }

  Result<std::vector<int64_t>> Read(const SliceSegment& segment, EventColumn column) {
    ASSIGN_OR_RETURN(std::vector<int64_t> values, ReadColumn(db_, PlaceOf(segment.id, column)));
    if (values.size() != segment.rows) {
      return Fail(ErrorCode::kStorageBroken, "read segment " + std::to_string(segment.id),
                  "column " + std::to_string(static_cast<int>(column)) + " has " + std::to_string(values.size()) +
                      " of its " + std::to_string(segment.rows) + " rows");
    }
    return values;
  }

  Result<Slices> Read(const SliceSegment& segment) {
    Slices slices;
    ASSIGN_OR_RETURN(slices.times, Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(slices.durations, Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(slices.tracks, Read(segment, EventColumn::kTrack));
    ASSIGN_OR_RETURN(slices.names, Read(segment, EventColumn::kName));
    for (size_t row = 0; row < slices.times.size(); ++row) {
      const int64_t time = slices.times[row];
      if (time >= segment.min_time_ns && time <= segment.max_time_ns && IsEventTime(time) &&
          IsEventTime(EndOf(time, slices.durations[row]))) {
        continue;
      }
      return Fail(ErrorCode::kBadInput, "read segment " + std::to_string(segment.id),
                  "row " + std::to_string(row) + " is not between the times that it says");
    }
    return slices;
  }

  Status AddOne(const SliceSegment& segment) {
    ASSIGN_OR_RETURN(const Slices slices, Read(segment));
    std::vector<uint32_t> order(slices.times.size());
    std::iota(order.begin(), order.end(), 0U);
    std::vector<int64_t> depths(order.size());
    RETURN_IF_ERROR(Nest(slices, order, depths));
    return WriteDepths(segment, depths);
  }

  Status AddMany(std::span<const SliceSegment> cluster) {
    std::map<int64_t, std::vector<Stretch>> of_tracks;
    for (size_t i = 0; i < cluster.size(); ++i) {
      RETURN_IF_ERROR(CheckStop());
      ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, Read(cluster[i], EventColumn::kTrack));
      for (size_t first = 0; first < tracks.size();) {
        size_t last = first + 1;
        while (last < tracks.size() && tracks[last] == tracks[first]) ++last;
        of_tracks[tracks[first]].push_back({i, first, last - first});
        first = last;
      }
    }
    std::vector<std::vector<int16_t>> depths;
    for (const SliceSegment& segment : cluster) depths.emplace_back(segment.rows, int16_t{-1});
    std::vector<std::pair<int64_t, std::span<const Stretch>>> group;
    size_t rows = 0;
    for (const auto& [track, stretches] : of_tracks) {
      size_t of_track = 0;
      for (const Stretch& stretch : stretches) of_track += stretch.count;
      if (of_track > limits_.rows_of_track) {
        without_depth_ += static_cast<int64_t>(of_track);
        continue;
      }
      if (rows + of_track > limits_.rows_at_once) RETURN_IF_ERROR(AddGroup(cluster, std::exchange(group, {}), depths));
      rows = group.empty() ? of_track : rows + of_track;
      group.emplace_back(track, stretches);
    }
    RETURN_IF_ERROR(AddGroup(cluster, group, depths));
    for (size_t i = 0; i < cluster.size(); ++i) {
      std::vector<int64_t> wide(depths[i].begin(), depths[i].end());
      std::replace(wide.begin(), wide.end(), int64_t{-1}, kNoValue);
      RETURN_IF_ERROR(WriteDepths(cluster[i], wide));
    }
    return OkStatus();
  }

  // Some tracks of a cluster, whole.
  Status AddGroup(std::span<const SliceSegment> cluster,
                  const std::vector<std::pair<int64_t, std::span<const Stretch>>>& group,
                  std::vector<std::vector<int16_t>>& depths) {
    if (group.empty()) return OkStatus();
    std::vector<Slices> of_tracks(group.size());
    std::vector<std::vector<std::pair<size_t, Stretch>>> work(cluster.size());
    for (size_t i = 0; i < group.size(); ++i) {
      for (const Stretch& stretch : group[i].second) work[stretch.segment].emplace_back(i, stretch);
    }
    for (size_t i = 0; i < group.size(); ++i) of_tracks[i].Reserve(group[i].second);
    for (size_t s = 0; s < cluster.size(); ++s) {
      if (work[s].empty()) continue;
      RETURN_IF_ERROR(CheckStop());
      ASSIGN_OR_RETURN(const Slices slices, Read(cluster[s]));
      for (const auto& [i, stretch] : work[s]) of_tracks[i].Append(slices, stretch.first, stretch.count);
    }
    for (size_t i = 0; i < group.size(); ++i) {
      ASSIGN_OR_RETURN(const std::vector<int16_t> unsorted, NestInAnyOrder(of_tracks[i]));
      size_t from = 0;
      for (const Stretch& stretch : group[i].second) {
        std::copy_n(unsorted.begin() + static_cast<ptrdiff_t>(from), stretch.count,
                    depths[stretch.segment].begin() + static_cast<ptrdiff_t>(stretch.first));
        from += stretch.count;
      }
      of_tracks[i] = {};
    }
    return OkStatus();
  }

  // Of one track, where each stands; no copy of them is made.
  Result<std::vector<int16_t>> NestInAnyOrder(const Slices& slices) {
    std::vector<int16_t> depths(slices.times.size());
    const std::vector<uint32_t> order = OrderByTime(slices.times, slices.durations);
    RETURN_IF_ERROR(Nest(slices, order, depths));
    return depths;
  }

  template <typename Depth>
  Status Nest(const Slices& slices, std::span<const uint32_t> order, std::vector<Depth>& depths) {
    for (const uint32_t row : order) {
      depths[row] = static_cast<Depth>(nesting_.Add(slices.times[row], slices.durations[row], slices.tracks[row]));
    }
    return levels_.Add(order, [&](uint32_t row) {
      return DetailSlice{slices.times[row], slices.durations[row], slices.tracks[row], depths[row], slices.names[row]};
    });
  }

  Status WriteDepths(const SliceSegment& segment, const std::vector<int64_t>& depths) {
    return WriteColumn(db_, PlaceOf(segment.id, EventColumn::kDepth), segment.rows, EncodeColumn(depths));
  }

  Db& db_;
  DetailLevels& levels_;
  const std::stop_token& stop_;
  const SlicePassLimits limits_;
  SliceNesting nesting_;
  std::optional<int64_t> followed_at_;
  int64_t without_depth_ = 0;
};

}  // namespace

Result<MadeDepths> MakeDepths(Db& db, std::span<const SliceSegment> segments, DetailLevels& levels,
                              const std::stop_token& stop, const SlicePassLimits& limits) {
  std::vector<SliceSegment> sorted(segments.begin(), segments.end());
  std::sort(sorted.begin(), sorted.end(), [](const SliceSegment& a, const SliceSegment& b) {
    return std::pair(a.min_time_ns, a.id) < std::pair(b.min_time_ns, b.id);
  });
  Pass pass(db, levels, stop, limits);
  for (size_t first = 0; first < sorted.size();) {
    const std::span<const SliceSegment> from_here = std::span(sorted).subspan(first);
    size_t count = 1;
    int64_t end = sorted[first].max_time_ns;
    while (count < from_here.size()) {
      size_t tied = count;
      if (from_here[count].min_time_ns < end) {
        ++tied;
      } else {
        while (tied < from_here.size() && from_here[tied].min_time_ns == end) ++tied;
        if (tied == count) break;
        ASSIGN_OR_RETURN(const bool follow,
                         pass.Follow(from_here.first(count), from_here.subspan(count, tied - count), end));
        if (follow) break;
      }
      for (; count < tied; ++count) end = std::max(end, from_here[count].max_time_ns);
    }
    RETURN_IF_ERROR(pass.Add(from_here.first(count)));
    first += count;
  }
  return pass.made();
}

}  // namespace kprof
