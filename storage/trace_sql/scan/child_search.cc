#include "storage/trace_sql/scan/child_search.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "storage/trace_sql/parts/open_part.h"

namespace kprof {
namespace {

constexpr size_t kMostParents = 4096;  // whose places are looked up

}  // namespace

Status NarrowToChildren(TraceSet& set, EventKind kind, ScanFilter& filter) {
  if (!filter.parent.is_active()) return OkStatus();
  std::vector<int64_t> parents;
  if (filter.parent.is_empty()) {
  } else if (filter.parent.list() != nullptr) {
    parents = *filter.parent.list();
  } else if (filter.parent.only()) {
    parents.push_back(*filter.parent.only());
  } else {
    return OkStatus();
  }
  if (parents.size() > kMostParents) return OkStatus();
  std::vector<int64_t> tracks;
  std::vector<int64_t> depths;
  int64_t begin_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  for (const int64_t id : parents) {
    const int64_t part_number = PartOfSqlId(id);
    const int64_t row = NumberOfSqlId(id);
    if (part_number < 0 || part_number >= static_cast<int64_t>(set.parts().size())) continue;
    OpenPart& part = *set.parts()[static_cast<size_t>(part_number)];
    const Segment* segment = part.FindSegment(kind, row);
    if (segment == nullptr) continue;
    RETURN_IF_ERROR(part.CheckTime());
    const auto at = static_cast<size_t>(row - segment->first_row);
    const auto value = [&](EventColumn column) -> Result<int64_t> {
      ASSIGN_OR_RETURN(const DecodedColumn values, part.Read(*segment, column));
      return (*values)[at];
    };
    ASSIGN_OR_RETURN(const int64_t track, value(EventColumn::kTrack));
    ASSIGN_OR_RETURN(const int64_t time_ns, value(EventColumn::kTime));
    ASSIGN_OR_RETURN(const int64_t duration_ns, value(EventColumn::kDuration));
    ASSIGN_OR_RETURN(const int64_t depth, value(EventColumn::kDepth));
    if (depth < 0 || depth == INT64_MAX) continue;
    int64_t ends_ns = INT64_MAX;
    if (duration_ns >= 0 && __builtin_add_overflow(time_ns, duration_ns, &ends_ns)) ends_ns = INT64_MAX;
    tracks.push_back(part.IdOf(track));
    depths.push_back(depth + 1);
    begin_ns = std::min(begin_ns, std::max(time_ns, INT64_MIN + 1));
    end_ns = std::max(end_ns, ends_ns);
  }
  if (tracks.empty()) {
    filter.id.KeepOnly({});
    return OkStatus();
  }
  filter.track.KeepOnly(std::move(tracks));
  filter.of(EventColumn::kTime).KeepBetween(begin_ns, end_ns);
  filter.of(EventColumn::kDepth).KeepOnly(std::move(depths));
  return OkStatus();
}

}  // namespace kprof
