#include "storage/trace/slice_samples.h"

#include <algorithm>
#include <map>

#include "storage/trace/event_time.h"
#include "storage/trace/level_choice.h"
#include "storage/trace/slice_nesting.h"
#include "storage/trace/time_order.h"

namespace kprof {
namespace {

constexpr size_t kSlicesOfStretch = 262'144;
constexpr size_t kMostStretches = 256;
constexpr size_t kFewSlices = 131'072;  // all of them are looked at

// From the first time to the last one.
struct Window {
  int64_t first_ns = 0;
  int64_t last_ns = 0;

  bool Has(int64_t time_ns) const { return time_ns >= first_ns && time_ns <= last_ns; }
  bool Meets(const SliceSegment& segment) const {
    return segment.min_time_ns <= last_ns && segment.max_time_ns >= first_ns;
  }
};

struct TrackRows {
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
};

size_t RowsOf(std::span<const SliceSegment> segments) {
  size_t rows = 0;
  for (const SliceSegment& segment : segments) rows += segment.rows;
  return rows;
}

// The quarter in the middle of the time of the segment that has that row.
Window AroundRow(std::span<const SliceSegment> segments, size_t row) {
  size_t at = 0;
  while (at + 1 < segments.size() && row >= segments[at].rows) row -= segments[at++].rows;
  const SliceSegment& segment = segments[at];
  const int64_t eighth = (segment.max_time_ns - segment.min_time_ns) / 8;
  return {segment.min_time_ns + 3 * eighth, segment.max_time_ns - 3 * eighth};
}

Status AddRows(Db& db, const SliceSegment& segment, const Window& window, std::map<int64_t, TrackRows>& of_tracks) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> times, ReadRows(db, segment, EventColumn::kTime));
  if (std::none_of(times.begin(), times.end(), [&](int64_t time) { return window.Has(time); })) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<int64_t> durations, ReadRows(db, segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(const std::vector<int64_t> tracks, ReadRows(db, segment, EventColumn::kTrack));
  TrackRows* rows = nullptr;
  for (size_t row = 0; row < times.size(); ++row) {
    if (!window.Has(times[row]) || durations[row] == kNoValue) continue;
    if (rows == nullptr || tracks[row] != tracks[row - 1]) rows = &of_tracks[tracks[row]];
    rows->times.push_back(times[row]);
    rows->durations.push_back(durations[row]);
  }
  return OkStatus();
}

LevelChoice::Stretch Count(const std::map<int64_t, TrackRows>& of_tracks) {
  LevelChoice::Stretch stretch;
  SliceNesting nesting;
  LevelCounts counts;
  for (const auto& [track, rows] : of_tracks) {
    for (const uint32_t row : OrderByTime(rows.times, rows.durations)) {
      const int64_t time = rows.times[row];
      const int64_t duration = rows.durations[row];
      counts.Add({time, duration, track, nesting.Add(time, duration, track), 0});
      ++stretch.slices;
    }
  }
  stretch.rows = counts.rows();
  return stretch;
}

}  // namespace

Result<std::vector<int>> ChooseLevels(Db& db, std::span<const SliceSegment> segments, const std::stop_token& stop) {
  const size_t all = RowsOf(segments);
  const bool few = all <= kFewSlices;
  const size_t stretches = few ? 1 : std::clamp<size_t>(all / kSlicesOfStretch, 4, kMostStretches);
  LevelChoice choice;
  for (size_t i = 0; i < stretches; ++i) {
    const Window window =
        few ? Window{-kMostTimeNs, kMostTimeNs} : AroundRow(segments, all / stretches * i + all / stretches / 2);
    std::map<int64_t, TrackRows> of_tracks;
    for (const SliceSegment& segment : segments) {
      if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "write the trace part", "it was cancelled");
      if (window.Meets(segment)) RETURN_IF_ERROR(AddRows(db, segment, window, of_tracks));
    }
    LevelChoice::Stretch stretch = Count(of_tracks);
    stretch.stands_for = all / stretches;
    choice.Add(stretch);
  }
  return choice.Choose();
}

}  // namespace kprof
