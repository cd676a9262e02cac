#include "storage/trace_sql/parts/correlation_index.h"

#include <sqlite3.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace kprof {
namespace {

constexpr size_t kRowBytes = sizeof(int64_t) + sizeof(uint32_t);
constexpr size_t kMostHeldRows = (size_t{24} << 20) / kRowBytes;
constexpr int64_t kMostDropped = 2048;  // segments; each took milliseconds

struct Entry {
  int64_t correlation;
  uint32_t row;
};

}  // namespace

CorrelationIndex::~CorrelationIndex() {
  for (OfSegment& of : segments_) Drop(of);
}

void CorrelationIndex::Drop(OfSegment& of) {
  sqlite3_free(std::exchange(of.correlations, nullptr));
  of.rows = nullptr;
  of.is_made = false;
  held_rows_ -= std::exchange(of.size, 0);
}

bool CorrelationIndex::DropOldest() {
  OfSegment* oldest = nullptr;
  for (OfSegment& of : segments_) {
    if (of.is_made && of.size > 0 && (oldest == nullptr || of.asked < oldest->asked)) oldest = &of;
  }
  if (oldest == nullptr) return false;
  Drop(*oldest);
  ++dropped_;
  return true;
}

Status CorrelationIndex::List(OpenPart& part) {
  for (const Segment& segment : part.segments(EventKind::kSlice)) {
    ASSIGN_OR_RETURN(const std::optional<ColumnBounds> bounds, part.ReadBounds(segment, EventColumn::kCorrelation));
    if (!bounds) continue;
    segments_.push_back({.segment = &segment});
    bounds_.push_back(*bounds);
  }
  is_listed_ = true;
  return OkStatus();
}

Result<bool> CorrelationIndex::Make(OpenPart& part, OfSegment& of) {
  RETURN_IF_ERROR(part.CheckTime());
  ASSIGN_OR_RETURN(const DecodedColumn correlations, part.Read(*of.segment, EventColumn::kCorrelation));
  std::vector<Entry> entries;
  for (uint32_t row = 0; row < of.segment->rows; ++row) {
    if ((*correlations)[row] != kNoValue) entries.push_back({(*correlations)[row], row});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.correlation < b.correlation; });
  of.is_made = true;
  if (entries.empty()) return true;
  while (held_rows_ + entries.size() > kMostHeldRows && DropOldest()) continue;
  void* memory = sqlite3_malloc64(entries.size() * kRowBytes);
  while (memory == nullptr && DropOldest()) memory = sqlite3_malloc64(entries.size() * kRowBytes);
  if (memory == nullptr) {
    of.is_made = false;
    return false;
  }
  of.correlations = static_cast<int64_t*>(memory);
  of.rows = reinterpret_cast<uint32_t*>(of.correlations + entries.size());
  of.size = entries.size();
  held_rows_ += of.size;
  for (size_t i = 0; i < of.size; ++i) {
    of.correlations[i] = entries[i].correlation;
    of.rows[i] = entries[i].row;
  }
  return true;
}

Result<bool> CorrelationIndex::Find(OpenPart& part, std::span<const int64_t> correlations, std::vector<Found>& found) {
  if (!std::exchange(was_asked_, true) || gave_up_) return false;
  if (!is_listed_) RETURN_IF_ERROR(List(part));
  if (correlations.empty()) return true;
  ++questions_;
  for (size_t i = 0; i < segments_.size(); ++i) {
    if (bounds_[i].min > correlations.back() || bounds_[i].max < correlations.front()) continue;
    OfSegment& of = segments_[i];
    of.asked = questions_;
    if (!of.is_made) {
      ASSIGN_OR_RETURN(const bool is_made, Make(part, of));
      gave_up_ = !is_made || dropped_ > kMostDropped;
      if (!is_made) return false;
    }
    std::vector<uint32_t> rows;
    for (const int64_t correlation : correlations) {
      const auto [begin, end] = std::equal_range(of.correlations, of.correlations + of.size, correlation);
      rows.insert(rows.end(), of.rows + (begin - of.correlations), of.rows + (end - of.correlations));
    }
    if (rows.empty()) continue;
    if (correlations.size() > 1) std::sort(rows.begin(), rows.end());
    found.push_back({of.segment, std::move(rows)});
  }
  return true;
}

}  // namespace kprof
