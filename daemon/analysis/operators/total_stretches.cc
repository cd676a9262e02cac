#include "daemon/analysis/operators/total_stretches.h"

#include <algorithm>
#include <string>

#include "daemon/analysis/operators/derived_columns.h"

namespace kprof {
namespace {

// The row of the first slice that they are of, and how many slices that are.
Result<std::vector<int64_t>> FindRows(PartReader& reader, const Segment& totals) {
  ASSIGN_OR_RETURN(const DecodedColumn firsts, reader.ReadOnce(totals, EventColumn::kSlice));
  ASSIGN_OR_RETURN(const DecodedColumn counts, reader.ReadOnce(totals, EventColumn::kCount));
  const int64_t most = reader.rows(EventKind::kSlice);
  int64_t rows = 0;
  for (size_t i = 0; i < counts->size(); ++i) {
    const int64_t count = (*counts)[i];
    if ((*firsts)[i] != firsts->front() || count < 1 || count > most - rows) {
      return reader.Broken("segment " + std::to_string(totals.id) + " has totals of more slices than there are");
    }
    rows += count;
  }
  return std::vector<int64_t>{firsts->front(), rows};
}

// From the segment that begins with a row to the one that ends with another; nothing where there are none.
bool FindSegments(std::span<const Segment> slices, int64_t first_row, int64_t rows, SlicesWithTotals& stretch) {
  const auto before = [](const Segment& segment, int64_t row) { return segment.first_row < row; };
  const auto first = std::lower_bound(slices.begin(), slices.end(), first_row, before);
  const auto end = std::lower_bound(first, slices.end(), first_row + rows, before);
  if (first == end || first->first_row != first_row) return false;
  stretch.first = static_cast<size_t>(first - slices.begin());
  stretch.end = static_cast<size_t>(end - slices.begin());
  int64_t min_time = first->min_time_ns;
  int64_t max_time = first->max_time_ns;
  int64_t max_end = first->max_end_ns;
  for (auto at = first; at != end; ++at) {
    min_time = std::min(min_time, at->min_time_ns);
    max_time = std::max(max_time, at->max_time_ns);
    max_end = std::max(max_end, at->max_end_ns);
  }
  const Segment& last = slices[stretch.end - 1];
  return last.first_row + int64_t{last.rows} == first_row + rows && stretch.totals->min_time_ns == min_time &&
         stretch.totals->max_time_ns == max_time && stretch.totals->max_end_ns == max_end;
}

}  // namespace

Result<std::vector<SlicesWithTotals>> FindSlicesWithTotals(PartReader& reader) {
  std::vector<SlicesWithTotals> stretches;
  for (const Segment& totals : reader.segments(EventKind::kTotal)) {
    ASSIGN_OR_RETURN(const DecodedColumn rows,
                     reader.ReadDerived(totals, kTotalRowsColumn, [&] { return FindRows(reader, totals); }));
    SlicesWithTotals stretch{&totals, 0, 0};
    const int64_t first_row = (*rows)[0];
    if (first_row < 0 || first_row > reader.rows(EventKind::kSlice) - (*rows)[1] ||
        !FindSegments(reader.segments(EventKind::kSlice), first_row, (*rows)[1], stretch)) {
      return reader.Broken("segment " + std::to_string(totals.id) + " has totals that are not of whole segments");
    }
    stretches.push_back(stretch);
  }
  std::sort(stretches.begin(), stretches.end(),
            [](const SlicesWithTotals& a, const SlicesWithTotals& b) { return a.first < b.first; });
  for (size_t i = 1; i < stretches.size(); ++i) {
    if (stretches[i].first >= stretches[i - 1].end) continue;
    return reader.Broken("segments " + std::to_string(stretches[i - 1].totals->id) + " and " +
                         std::to_string(stretches[i].totals->id) + " have totals of the same slices");
  }
  return stretches;
}

}  // namespace kprof
