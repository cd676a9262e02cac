// All that a reader gives of a part.
#pragma once

#include <algorithm>

#include "storage/trace/read/part_reader.h"

namespace kprof {

// Reads everything; the first failure, if there is one.
inline Status ReadAll(PartReader& reader) {
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    for (const Segment& segment : reader.segments(static_cast<EventKind>(kind + 1))) {
      for (const EventColumn column : ColumnsOf(segment.kind)) {
        RETURN_IF_ERROR(reader.Read(segment, column).status());
        RETURN_IF_ERROR(reader.ReadBounds(segment, column).status());
      }
      if (segment.kind == EventKind::kSlice) RETURN_IF_ERROR(reader.Read(segment, EventColumn::kDepth).status());
      const std::span<const EventColumn> columns = ColumnsOf(segment.kind);
      if (std::find(columns.begin(), columns.end(), EventColumn::kShape) == columns.end()) continue;
      for (uint32_t shape = 1; shape < reader.shapes().size(); ++shape) {
        for (uint32_t slot = 0; slot < reader.shapes()[shape].size(); ++slot) {
          if (!HasColumn(reader.shapes()[shape][slot].type)) continue;
          ASSIGN_OR_RETURN(const DecodedColumn values, reader.ReadArg(segment, shape, slot));
          if (!IsStringNumber(reader.shapes()[shape][slot].type)) continue;
          for (const int64_t value : *values) RETURN_IF_ERROR(reader.ReadString(value).status());
        }
      }
    }
  }
  for (const StoredSideTable& table : reader.side_tables()) {
    for (const SideSegment& segment : table.segments) {
      for (size_t column = 0; column < table.table.columns.size(); ++column) {
        ASSIGN_OR_RETURN(const DecodedColumn values, reader.ReadSide(segment, column));
        KPROF_CHECK(values->size() == segment.rows);
        if (table.table.columns[column].type != SideType::kText) continue;
        for (const int64_t value : *values) {
          if (value != kNoValue) RETURN_IF_ERROR(reader.ReadString(value).status());
        }
      }
    }
  }
  RETURN_IF_ERROR(reader.ForEachString([](int64_t, std::string_view) { return true; }));
  RETURN_IF_ERROR(reader.FindString("gemm").status());
  return reader.ReadString(0).status();
}

}  // namespace kprof
