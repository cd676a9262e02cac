#include "daemon/analysis/operators/counter_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "daemon/analysis/operators/row_indexes.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/trace/levels/counter_levels.h"
#include "storage/trace/levels/detail_levels.h"

namespace kprof {
namespace {

constexpr int kMostCounterPixels = 65'536;

class Counters {
 public:
  Counters(PartReader& reader, const Viewport& viewport, const CounterLimits& limits)
      : reader_(reader),
        limits_(limits),
        from_(std::max(viewport.from_ns, kFirstTimeNs)),
        to_(std::min(viewport.to_ns, kLastTimeNs)),
        wanted_(reader.tracks().size(), viewport.tracks.empty() ? 1 : 0),
        tracks_(reader.tracks().size()),
        points_of_pixels_(reader.tracks().size()),
        before_ns_(reader.tracks().size(), INT64_MIN) {
    for (const uint32_t track : viewport.tracks) {
      if (track < wanted_.size()) wanted_[track] = 1;
    }
    for (uint32_t track = 0; track < tracks_.size(); ++track) {
      tracks_[track].track = track;
      if (reader.tracks()[track].kind != "counter") wanted_[track] = 0;
      missing_ += wanted_[track];
    }
    const int64_t length = to_ - from_;
    tiles_.pixel_ns = length / viewport.pixels + (length % viewport.pixels != 0 ? 1 : 0);
  }

  Status Make(const StopSignal& stop) {
    RETURN_IF_ERROR(FindLevels());
    std::sort(levels_[0].segments.begin(), levels_[0].segments.end(), [](const Segment* a, const Segment* b) {
      return std::pair(a->min_time_ns, a->id) < std::pair(b->min_time_ns, b->id);
    });
    for (const Segment* segment : levels_[0].segments) {
      if (segment->min_time_ns >= to_ || segment->max_end_ns < from_) continue;
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(Add(*segment));
    }
    // Back in time until each has a value: on each level as far as the next one tells nothing, as that puts together
    // what is before the viewport and what is in it.
    for (size_t i = 0; i < levels_.size() && missing_ > 0; ++i) {
      const bool is_last = i + 1 == levels_.size();
      RETURN_IF_ERROR(
          GoBack(levels_[i], is_last ? kFirstTimeNs : from_ >> levels_[i + 1].shift << levels_[i + 1].shift, stop));
    }
    return OkStatus();
  }

  CounterTiles Take() {
    for (uint32_t track = 0; track < tracks_.size(); ++track) {
      CounterTrack& taken = tracks_[track];
      if (taken.points.empty() && !taken.before) continue;
      std::stable_sort(taken.points.begin(), taken.points.end(),
                       [](const CounterPoint& a, const CounterPoint& b) { return a.time_ns < b.time_ns; });
      tiles_.tracks.push_back(std::move(taken));
    }
    return std::move(tiles_);
  }

 private:
  // Samples as they are, or a level of detail of them.
  struct Level {
    int shift = 0;  // what begins in the same 2^shift ns of a track is one row
    std::vector<const Segment*> segments;
  };

  // The one to be drawn, the coarsest that is fine enough; and those that are coarser, in their order.
  Status FindLevels() {
    std::map<int, Level> found;
    for (const Segment& segment : reader_.segments(EventKind::kCounter)) found[0].segments.push_back(&segment);
    for (const Segment& segment : reader_.segments(EventKind::kCounterSummary)) {
      ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, reader_.ReadBounds(segment, EventColumn::kLevel));
      if (!bounds || bounds->min != bounds->max || bounds->min < kFinestLevel || bounds->min > kCoarsestLevel) continue;
      Level& level = found[static_cast<int>(bounds->min)];
      level.shift = 2 * static_cast<int>(bounds->min);
      level.segments.push_back(&segment);
    }
    for (auto& [number, level] : found) {
      const bool is_fine = number == 0 || int64_t{1} << level.shift <= tiles_.pixel_ns;
      if (is_fine) levels_.clear();
      levels_.push_back(std::move(level));
      if (is_fine) tiles_.level = number;
    }
    if (levels_.empty()) levels_.emplace_back();
    return OkStatus();
  }

  // To what begins at `least` or later.
  Status GoBack(Level& level, int64_t least, const StopSignal& stop) {
    std::sort(level.segments.begin(), level.segments.end(),
              [](const Segment* a, const Segment* b) { return a->max_end_ns > b->max_end_ns; });
    for (const Segment* segment : level.segments) {
      if (segment->max_end_ns < least) break;
      if (segment->min_time_ns >= from_) continue;
      if (missing_ == 0 && segment->max_end_ns <= least_before_) break;
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(AddBefore(*segment));
    }
    return OkStatus();
  }

  // Samples of some time, put together, or one.
  struct Samples {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t count = 1;
    double least = 0;
    double most = 0;
    double last = 0;
    double mean = 0;
    // The mean may be none: that of samples without an end in both directions.
    bool IsNumber() const { return !std::isnan(least) && !std::isnan(most) && !std::isnan(last); }
  };
  struct Columns {
    DecodedColumn times;
    DecodedColumn values;
    DecodedColumn durations;  // of a level, here and below
    DecodedColumn counts;
    DecodedColumn least;
    DecodedColumn most;
    DecodedColumn means;

    Samples operator[](size_t row) const {
      const auto number = [row](const DecodedColumn& column) { return std::bit_cast<double>((*column)[row]); };
      Samples samples;
      samples.begin = SafeTime((*times)[row]);
      samples.end = samples.begin;
      samples.last = number(values);
      samples.least = samples.most = samples.mean = samples.last;
      if (durations == nullptr) return samples;
      samples.end = SafeEndOf(samples.begin, (*durations)[row]);
      samples.count = std::max<int64_t>((*counts)[row], 1);
      samples.least = number(least);
      samples.most = number(most);
      samples.mean = number(means);
      return samples;
    }
  };

  Result<Columns> ReadColumns(const Segment& segment) {
    Columns columns;
    ASSIGN_OR_RETURN(columns.times, reader_.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(columns.values, reader_.Read(segment, EventColumn::kValue));
    if (segment.kind == EventKind::kCounter) return columns;
    ASSIGN_OR_RETURN(columns.durations, reader_.Read(segment, EventColumn::kDuration));
    ASSIGN_OR_RETURN(columns.counts, reader_.Read(segment, EventColumn::kCount));
    ASSIGN_OR_RETURN(columns.least, reader_.Read(segment, EventColumn::kLeast));
    ASSIGN_OR_RETURN(columns.most, reader_.Read(segment, EventColumn::kMost));
    ASSIGN_OR_RETURN(columns.means, reader_.Read(segment, EventColumn::kMean));
    return columns;
  }

  // What is in the viewport, and of each track the last that was before.
  Status Add(const Segment& segment) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    ASSIGN_OR_RETURN(const Columns columns, ReadColumns(segment));
    for (size_t i = 0; i < runs.size(); ++i) {
      const TrackRun run = runs[i];
      if (wanted_[run.track] == 0) continue;
      const size_t first = FindBefore(run, columns);
      for (size_t row = first; row < run.end && SafeTime((*columns.times)[row]) < to_; ++row) {
        const Samples samples = columns[row];
        if (samples.end >= from_ && samples.IsNumber()) AddPoint(tracks_[run.track], samples);
      }
    }
    return OkStatus();
  }

  Status AddBefore(const Segment& segment) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    ASSIGN_OR_RETURN(const Columns columns, ReadColumns(segment));
    for (size_t i = 0; i < runs.size(); ++i) {
      if (wanted_[runs[i].track] != 0) FindBefore(runs[i], columns);
    }
    return OkStatus();
  }

  // The row behind the last that ended before the viewport, which is noted.
  size_t FindBefore(const TrackRun& run, const Columns& columns) {
    const int64_t* times = columns.times->data();
    auto first = static_cast<size_t>(std::lower_bound(times + run.first, times + run.end, from_) - times);
    size_t behind = first;
    for (; first > run.first; --first) {
      const Samples samples = columns[first - 1];
      if (samples.end >= from_) {
        behind = first - 1;
      } else if (samples.IsNumber()) {
        SetBefore(run.track, samples.end, samples.last);
        break;
      }
    }
    return behind;
  }

  void SetBefore(uint32_t track, int64_t time, double value) {
    if (tracks_[track].before && time < before_ns_[track]) return;
    if (!tracks_[track].before) {
      --missing_;
      least_before_ = std::min(least_before_, time);
    }
    tracks_[track].before = value;
    before_ns_[track] = time;
  }

  // To the point of its pixel, also one before the last: segments of a source without order overlap.
  void AddPoint(CounterTrack& track, const Samples& samples) {
    const auto pixel_of = [this](int64_t at) { return (std::max(at, from_) - from_) / tiles_.pixel_ns; };
    const int64_t pixel = pixel_of(samples.begin);
    if (!track.points.empty() && pixel_of(track.points.back().time_ns) == pixel) {
      return Join(track.points.back(), samples);
    }
    std::unordered_map<int64_t, size_t>& of_pixels = points_of_pixels_[track.track];
    const auto found = of_pixels.find(pixel);
    if (found != of_pixels.end()) return Join(track.points[found->second], samples);
    if (points_ == limits_.most_points) {
      tiles_.is_complete = false;
      return;
    }
    ++points_;
    of_pixels.emplace(pixel, track.points.size());
    track.points.push_back(
        {samples.begin, samples.end, samples.count, samples.least, samples.most, samples.last, samples.mean});
  }

  static void Join(CounterPoint& point, const Samples& samples) {
    point.mean = MeanOfBoth(point.mean, point.count, samples.mean, samples.count);
    point.count = SaturatingSum(point.count, samples.count);
    point.min = std::min(point.min, samples.least);
    point.max = std::max(point.max, samples.most);
    if (samples.end >= point.last_ns) {
      point.last_ns = samples.end;
      point.last = samples.last;
    }
    point.time_ns = std::min(point.time_ns, samples.begin);
  }

  PartReader& reader_;
  const CounterLimits limits_;
  const int64_t from_;
  const int64_t to_;
  std::vector<uint8_t> wanted_;  // by track, here and below
  std::vector<CounterTrack> tracks_;
  std::vector<std::unordered_map<int64_t, size_t>> points_of_pixels_;
  std::vector<int64_t> before_ns_;
  size_t missing_ = 0;  // of those wanted, without a value before
  int64_t least_before_ = INT64_MAX;
  size_t points_ = 0;
  std::vector<Level> levels_;  // the first one is drawn
  CounterTiles tiles_;
};

}  // namespace

Result<CounterTiles> MakeCounterTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                      const CounterLimits& limits) {
  if (viewport.pixels < 1 || viewport.pixels > kMostCounterPixels || viewport.from_ns >= viewport.to_ns ||
      viewport.to_ns <= kFirstTimeNs || viewport.from_ns >= kLastTimeNs) {
    return Fail(ErrorCode::kUsage, "draw counters of trace part " + reader.path(), "there is no such viewport",
                "ask for a time that begins before it ends, and 1 to 65,536 pixels");
  }
  Counters counters(reader, viewport, limits);
  RETURN_IF_ERROR(counters.Make(stop));
  return counters.Take();
}

}  // namespace kprof
