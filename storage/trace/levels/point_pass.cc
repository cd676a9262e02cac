#include "storage/trace/levels/point_pass.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "storage/trace/format/event_time.h"
#include "storage/trace/levels/counter_levels.h"
#include "storage/trace/levels/lane_levels.h"
#include "storage/trace/levels/level_choice.h"

namespace kprof {
namespace {

// Of one segment, all of one size.
struct Points {
  std::vector<int64_t> times;
  std::vector<int64_t> tracks;
  std::vector<int64_t> others;  // names of instants, values of samples
};

Result<Points> ReadPoints(Db& db, const WrittenSegment& segment, EventColumn other) {
  Points points;
  ASSIGN_OR_RETURN(points.times, ReadRows(db, segment, EventColumn::kTime));
  for (size_t row = 0; row < points.times.size(); ++row) {
    const int64_t time = points.times[row];
    if (time >= segment.min_time_ns && time <= segment.max_time_ns && IsEventTime(time)) continue;
    return Fail(ErrorCode::kBadInput, "read segment " + std::to_string(segment.id),
                "row " + std::to_string(row) + " is not between the times that it says");
  }
  ASSIGN_OR_RETURN(points.tracks, ReadRows(db, segment, EventColumn::kTrack));
  ASSIGN_OR_RETURN(points.others, ReadRows(db, segment, other));
  return points;
}

std::vector<WrittenSegment> InOrder(std::span<const WrittenSegment> segments) {
  std::vector<WrittenSegment> sorted(segments.begin(), segments.end());
  std::sort(sorted.begin(), sorted.end(), [](const WrittenSegment& a, const WrittenSegment& b) {
    return std::pair(a.min_time_ns, a.id) < std::pair(b.min_time_ns, b.id);
  });
  return sorted;
}

// Each segment once, in the order of `segments`.
template <typename Add>
Status AddEach(Db& db, std::span<const WrittenSegment> segments, EventColumn other, const std::stop_token& stop,
               const Add& add) {
  for (const WrittenSegment& segment : segments) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "write the trace part", "it was cancelled");
    ASSIGN_OR_RETURN(const Points points, ReadPoints(db, segment, other));
    RETURN_IF_ERROR(add(points));
  }
  return OkStatus();
}

}  // namespace

Status MakeInstantLevels(Db& db, std::span<const WrittenSegment> instants,
                         const std::function<Status(const EncodedSegment&)>& write, const std::stop_token& stop) {
  const std::vector<WrittenSegment> segments = InOrder(instants);
  ASSIGN_OR_RETURN(const std::vector<int> chosen, ChooseLevels(db, segments, stop));
  if (chosen.empty()) return OkStatus();
  LaneLevels levels(EventKind::kInstantSummary, {});
  levels.Choose(chosen);
  const auto write_full = [&](size_t least_rows) -> Status {
    for (const EncodedSegment& segment : levels.Take(least_rows)) RETURN_IF_ERROR(write(segment));
    return OkStatus();
  };
  RETURN_IF_ERROR(AddEach(db, segments, EventColumn::kName, stop, [&](const Points& points) {
    for (size_t row = 0; row < points.times.size(); ++row) {
      levels.Add({points.times[row], 0, points.tracks[row], 0, points.others[row]});
    }
    return write_full(kMaxSegmentRows);
  }));
  levels.EndAll();
  return write_full(1);
}

Status MakeCounterLevels(Db& db, std::span<const WrittenSegment> samples,
                         const std::function<Status(const EncodedSegment&)>& write, const std::stop_token& stop) {
  const std::vector<WrittenSegment> segments = InOrder(samples);
  ASSIGN_OR_RETURN(const std::vector<int> chosen, ChooseLevels(db, segments, stop));
  if (chosen.empty()) return OkStatus();
  CounterLevels levels(write, chosen);
  RETURN_IF_ERROR(AddEach(db, segments, EventColumn::kValue, stop, [&](const Points& points) {
    return levels.Add(points.times, points.tracks, points.others);
  }));
  return levels.Finish();
}

}  // namespace kprof
