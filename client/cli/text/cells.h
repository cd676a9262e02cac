// Cells of the daemon's tables: reads them from columns (v1::ColumnData), and writes them as text, CSV and JSON. Pure
// but for the cursor, which is a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "client/cli/text/json_writer.h"
#include "kprof/v1/queries.pb.h"

namespace kprof::cli {

// These write a record of CSV (RFC 4180), field by field. The `first` field has no comma before it. Text with commas,
// quotes, CR, LF or spaces at an end is quoted, and so is empty text, to tell it from an absent value
// (AppendCsvAbsent).
void AppendCsvField(std::string& out, std::string_view text, bool first);
void AppendCsvAbsent(std::string& out, bool first);
void AppendCsvEnd(std::string& out);

// One value; text and blobs point into the message that they came in.
struct Cell {
  v1::ColumnData::Kind kind = v1::ColumnData::KIND_UNSPECIFIED;
  int64_t integer = 0;
  double real = 0;
  std::string_view bytes;
};

// Walks down a column. A column has one list of values per kind; the cursor takes the next of the right list.
class ColumnCursor {
 public:
  explicit ColumnCursor(const v1::ColumnData& data) : data_(data) {}

  // False: the column has no further value.
  bool Next(Cell& cell);

 private:
  const v1::ColumnData& data_;
  int row_ = 0;
  int integer_ = 0;
  int real_ = 0;
  int text_ = 0;
  int blob_ = 0;
};

// A whole number keeps its point, to be a real still: 1.0.
std::string RealText(double value);
// Values as in SQL: NULL, x'00ff'; but text as it is.
std::string CellText(const Cell& cell);
void WriteCell(JsonWriter& json, const Cell& cell);

}  // namespace kprof::cli
