// Rows of the side tables of kernel reports (report_tables.h), as functions over reports read them: those columns that
// are wanted, segment by segment, and none where a part has no such table, or one with other columns.
//
// One thread, that of the reader. Holds one segment at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// The table, where the part has it with these columns; else null.
inline const StoredSideTable* FindReportTable(const PartReader& reader, const SideTable& table) {
  const StoredSideTable* const found = reader.FindSideTable(table.name);
  return found != nullptr && found->table == table ? found : nullptr;
}

// A row, read by the columns of its table. REQUIRES: the column is one of those that are wanted.
template <typename Column>
class ReportRow {
 public:
  ReportRow(const std::vector<DecodedColumn>& columns, size_t row) : columns_(columns), row_(row) {}

  int64_t operator[](Column column) const { return (*columns_[static_cast<size_t>(column)])[row_]; }
  double real(Column column) const { return std::bit_cast<double>((*this)[column]); }

 private:
  const std::vector<DecodedColumn>& columns_;
  const size_t row_;
};

// Calls `see` for each row, in their order, until it fails. Fails as reading does, and when `stop` is given.
template <typename Column, typename See>
Status ForEachReportRow(PartReader& reader, const SideTable& table, std::initializer_list<Column> wanted,
                        const StopSignal& stop, See see) {
  const StoredSideTable* const found = FindReportTable(reader, table);
  if (found == nullptr) return OkStatus();
  std::vector<DecodedColumn> columns(found->table.columns.size());
  for (const SideSegment& segment : found->segments) {
    RETURN_IF_ERROR(StillWanted(stop));
    for (const Column column : wanted) {
      const auto place = static_cast<size_t>(column);
      ASSIGN_OR_RETURN(columns[place], reader.ReadSide(segment, place));
    }
    for (size_t row = 0; row < segment.rows; ++row) RETURN_IF_ERROR(see(ReportRow<Column>(columns, row)));
  }
  return OkStatus();
}

// The text of a string's number; empty for kNoValue.
inline Result<std::string> ReadTableText(PartReader& reader, int64_t number) {
  if (number == kNoValue) return std::string();
  return reader.ReadString(number);
}

}  // namespace kprof
