#include "daemon/analysis/counter_tiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "daemon/analysis/safe_times.h"
#include "daemon/analysis/track_runs.h"

namespace kprof {
namespace {

constexpr int kMostPixels = 65'536;

class Counters {
 public:
  Counters(PartReader& reader, const Viewport& viewport, const CounterLimits& limits)
      : reader_(reader),
        limits_(limits),
        from_(std::max(viewport.from_ns, kFirstTimeNs)),
        to_(std::min(viewport.to_ns, kLastTimeNs)),
        wanted_(reader.tracks().size(), viewport.tracks.empty() ? 1 : 0),
        tracks_(reader.tracks().size()),
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
    std::vector<const Segment*> order;
    for (const Segment& segment : reader_.segments(EventKind::kCounter)) order.push_back(&segment);
    std::sort(order.begin(), order.end(), [](const Segment* a, const Segment* b) {
      return std::pair(a->min_time_ns, a->id) < std::pair(b->min_time_ns, b->id);
    });
    for (const Segment* segment : order) {
      if (segment->min_time_ns >= to_ || segment->max_time_ns < from_) continue;
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(Add(*segment));
    }
    // Back in time until each has a value, or nothing that ends later than what was found is left.
    std::sort(order.begin(), order.end(),
              [](const Segment* a, const Segment* b) { return a->max_time_ns > b->max_time_ns; });
    for (const Segment* segment : order) {
      if (segment->max_time_ns >= from_) continue;
      if (missing_ == 0 && segment->max_time_ns <= least_before_) break;
      RETURN_IF_ERROR(StillWanted(stop));
      RETURN_IF_ERROR(Add(*segment));
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
  Status Add(const Segment& segment) {
    ASSIGN_OR_RETURN(const TrackRuns runs, TrackRuns::Read(reader_, segment));
    ASSIGN_OR_RETURN(const DecodedColumn times, reader_.Read(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn values, reader_.Read(segment, EventColumn::kValue));
    for (size_t i = 0; i < runs.size(); ++i) {
      const TrackRun run = runs[i];
      if (wanted_[run.track] == 0) continue;
      const int64_t* begin = times->data() + run.first;
      const int64_t* end = times->data() + run.end;
      const int64_t* first = std::lower_bound(begin, end, from_);
      for (const int64_t* before = first; before != begin; --before) {  // the last that is a number
        const double value = ValueOf(*values, *times, before - 1);
        if (std::isnan(value)) continue;
        SetBefore(run.track, *(before - 1), value);
        break;
      }
      for (const int64_t* at = first; at != end && *at < to_; ++at) {
        const double value = ValueOf(*values, *times, at);
        if (*at >= from_ && !std::isnan(value)) AddPoint(tracks_[run.track], *at, value);
      }
    }
    return OkStatus();
  }

  static double ValueOf(const std::vector<int64_t>& values, const std::vector<int64_t>& times, const int64_t* at) {
    return std::bit_cast<double>(values[static_cast<size_t>(at - times.data())]);
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

  void AddPoint(CounterTrack& track, int64_t time, double value) {
    const auto pixel_of = [this](int64_t at) { return (at - from_) / tiles_.pixel_ns; };
    if (!track.points.empty()) {
      CounterPoint& point = track.points.back();
      if (pixel_of(point.time_ns) == pixel_of(time)) {
        ++point.count;
        point.min = std::min(point.min, value);
        point.max = std::max(point.max, value);
        if (time >= point.last_ns) {
          point.last_ns = time;
          point.last = value;
        }
        point.time_ns = std::min(point.time_ns, time);
        return;
      }
    }
    if (points_ == limits_.most_points) {
      tiles_.is_complete = false;
      return;
    }
    ++points_;
    track.points.push_back({time, time, 1, value, value, value});
  }

  PartReader& reader_;
  const CounterLimits limits_;
  const int64_t from_;
  const int64_t to_;
  std::vector<uint8_t> wanted_;  // by track, here and below
  std::vector<CounterTrack> tracks_;
  std::vector<int64_t> before_ns_;
  size_t missing_ = 0;  // of those wanted, without a value before
  int64_t least_before_ = INT64_MAX;
  size_t points_ = 0;
  CounterTiles tiles_;
};

}  // namespace

Result<CounterTiles> MakeCounterTiles(PartReader& reader, const Viewport& viewport, const StopSignal& stop,
                                      const CounterLimits& limits) {
  if (viewport.pixels < 1 || viewport.pixels > kMostPixels || viewport.from_ns >= viewport.to_ns ||
      viewport.to_ns <= kFirstTimeNs || viewport.from_ns >= kLastTimeNs) {
    return Fail(ErrorCode::kUsage, "draw counters of trace part " + reader.path(), "there is no such viewport",
                "ask for a time that begins before it ends, and 1 to 65,536 pixels");
  }
  Counters counters(reader, viewport, limits);
  RETURN_IF_ERROR(counters.Make(stop));
  return counters.Take();
}

}  // namespace kprof
