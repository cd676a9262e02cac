#include "storage/trace_sql/correlation_index.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace kprof {

CorrelationIndex::~CorrelationIndex() {
  sqlite3_free(entries_);
}

Status CorrelationIndex::Make(OpenPart& part) {
  size_t room = 0;
  for (const Segment& segment : part.segments(EventKind::kSlice)) {
    RETURN_IF_ERROR(part.CheckTime());
    ASSIGN_OR_RETURN(const DecodedColumn correlations, part.Read(segment, EventColumn::kCorrelation));
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if ((*correlations)[row] == kNoValue) continue;
      if (size_ == room) {
        room = room == 0 ? 1024 : room * 2;
        auto* moved = static_cast<Entry*>(sqlite3_realloc64(entries_, room * sizeof(Entry)));
        if (moved == nullptr) {
          sqlite3_free(std::exchange(entries_, nullptr));
          has_no_room_ = true;
          return OkStatus();
        }
        entries_ = moved;
      }
      entries_[size_++] = {(*correlations)[row], segment.first_row + row};
    }
  }
  std::sort(entries_, entries_ + size_, [](const Entry& a, const Entry& b) {
    return std::pair(a.correlation, a.row) < std::pair(b.correlation, b.row);
  });
  is_made_ = true;
  return OkStatus();
}

Result<std::optional<std::vector<int64_t>>> CorrelationIndex::Find(OpenPart& part,
                                                                   const std::vector<int64_t>& correlations) {
  if (!std::exchange(was_asked_, true) || has_no_room_) return std::optional<std::vector<int64_t>>();
  if (!is_made_) RETURN_IF_ERROR(Make(part));
  if (has_no_room_) return std::optional<std::vector<int64_t>>();
  std::vector<int64_t> rows;
  for (const int64_t correlation : correlations) {
    const Entry* entry = std::lower_bound(entries_, entries_ + size_, correlation,
                                          [](const Entry& a, int64_t wanted) { return a.correlation < wanted; });
    for (; entry != entries_ + size_ && entry->correlation == correlation; ++entry) rows.push_back(entry->row);
  }
  std::sort(rows.begin(), rows.end());
  return std::optional(std::move(rows));
}

}  // namespace kprof
