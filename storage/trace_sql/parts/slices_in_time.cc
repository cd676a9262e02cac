#include "storage/trace_sql/parts/slices_in_time.h"

#include <algorithm>
#include <utility>

#include "storage/trace/format/event_time.h"

namespace kprof {
namespace {

struct Columns {
  std::vector<int64_t> times;
  std::vector<int64_t> durations;
  std::vector<int64_t> tracks;
  std::vector<int64_t> depths;
  std::vector<int64_t> rows;
};

Status Append(OpenPart& part, const Segment& segment, Columns& all) {
  const auto append = [&](EventColumn column, std::vector<int64_t>& to) -> Status {
    ASSIGN_OR_RETURN(const DecodedColumn values, part.Read(segment, column));
    to.insert(to.end(), values->begin(), values->end());
    return OkStatus();
  };
  RETURN_IF_ERROR(append(EventColumn::kTime, all.times));
  RETURN_IF_ERROR(append(EventColumn::kDuration, all.durations));
  RETURN_IF_ERROR(append(EventColumn::kTrack, all.tracks));
  RETURN_IF_ERROR(append(EventColumn::kDepth, all.depths));
  for (uint32_t row = 0; row < segment.rows; ++row) all.rows.push_back(segment.first_row + row);
  return OkStatus();
}

Status ReadOneInTime(OpenPart& part, const Segment& segment, const std::function<void(const TimedSlice&)>& see) {
  ASSIGN_OR_RETURN(const DecodedColumn times, part.Read(segment, EventColumn::kTime));
  ASSIGN_OR_RETURN(const DecodedColumn durations, part.Read(segment, EventColumn::kDuration));
  ASSIGN_OR_RETURN(const DecodedColumn tracks, part.Read(segment, EventColumn::kTrack));
  ASSIGN_OR_RETURN(const DecodedColumn depths, part.Read(segment, EventColumn::kDepth));
  for (uint32_t row = 0; row < segment.rows; ++row) {
    see({(*tracks)[row], (*times)[row], (*durations)[row], (*depths)[row], segment.first_row + row});
  }
  return OkStatus();
}

}  // namespace

std::vector<std::vector<const Segment*>> SegmentGroupsOf(const OpenPart& part) {
  std::vector<const Segment*> sorted;
  for (const Segment& segment : part.segments(EventKind::kSlice)) sorted.push_back(&segment);
  std::sort(sorted.begin(), sorted.end(), [](const Segment* a, const Segment* b) {
    return std::pair(a->min_time_ns, a->id) < std::pair(b->min_time_ns, b->id);
  });
  std::vector<std::vector<const Segment*>> groups;
  int64_t end_ns = 0;
  for (const Segment* segment : sorted) {
    // One that begins when the one before ends follows it: so does what was cut of one ordered whole.
    if (groups.empty() || segment->min_time_ns >= end_ns) {
      groups.push_back({segment});
      end_ns = segment->max_time_ns;
    } else {
      groups.back().push_back(segment);
      end_ns = std::max(end_ns, segment->max_time_ns);
    }
  }
  return groups;
}

Status ReadGroupInTime(OpenPart& part, std::span<const Segment* const> group,
                       const std::function<void(const TimedSlice&)>& see) {
  RETURN_IF_ERROR(part.CheckTime());
  if (group.size() == 1) return ReadOneInTime(part, *group.front(), see);
  size_t rows = 0;
  for (const Segment* segment : group) rows += segment->rows;
  if (rows > kMostGroupRows) return OkStatus();
  Columns all;
  for (const Segment* segment : group) {
    RETURN_IF_ERROR(part.CheckTime());
    RETURN_IF_ERROR(Append(part, *segment, all));
  }
  std::vector<uint32_t> order = OrderByTime(all.times, all.durations);
  OrderByTrack(order, all.tracks);
  for (const uint32_t at : order) {
    see({all.tracks[at], all.times[at], all.durations[at], all.depths[at], all.rows[at]});
  }
  return OkStatus();
}

}  // namespace kprof
