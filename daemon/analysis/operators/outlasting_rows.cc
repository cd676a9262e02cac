#include "daemon/analysis/operators/outlasting_rows.h"

#include <algorithm>
#include <vector>

#include "daemon/analysis/operators/derived_columns.h"
#include "daemon/analysis/operators/safe_times.h"

namespace kprof {

Result<DecodedColumn> ReadOutlasting(PartReader& reader, const Segment& segment) {
  return reader.ReadDerived(segment, kOutlastingColumn, [&]() -> Result<std::vector<int64_t>> {
    ASSIGN_OR_RETURN(const DecodedColumn times, reader.ReadOnce(segment, EventColumn::kTime));
    ASSIGN_OR_RETURN(const DecodedColumn durations, reader.ReadOnce(segment, EventColumn::kDuration));
    std::vector<int64_t> rows;
    for (uint32_t row = 0; row < segment.rows; ++row) {
      if (EndOf(SafeTime((*times)[row]), (*durations)[row]) > segment.max_time_ns) rows.push_back(row);
    }
    return rows;
  });
}

}  // namespace kprof
