// The columns of segments in a part's file: written once, with a checksum, read back by their ids.
//
// On the thread of its Db. The file is untrusted: reading fails with kStorageBroken, naming the segment and the column.
#pragma once

#include <cstdint>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/trace/format/column_codec.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

// The place of a column: its segment, shape and number (part_schema.h, ColumnId).
struct ColumnPlace {
  int64_t segment = 0;
  uint32_t shape = 0;
  uint32_t column = 0;
};
constexpr ColumnPlace PlaceOf(int64_t segment, EventColumn column) {
  return {segment, 0, static_cast<uint32_t>(column)};
}

// The place of a side table's column: the segment, and the column's place in the table.
constexpr ColumnPlace SidePlaceOf(int64_t segment, size_t column) {
  return {segment, 0, static_cast<uint32_t>(column + 1)};
}

Status WriteColumn(Db& db, const ColumnPlace& place, uint32_t rows, const EncodedColumn& column);

// Returns as many values as the column says it has rows; none when there is no such column.
Result<std::vector<int64_t>> ReadColumn(Db& db, const ColumnPlace& place);

struct ColumnBounds {
  int64_t min = 0;
  int64_t max = 0;
};

}  // namespace kprof
