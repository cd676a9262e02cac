#include "client/cli/text/cells.h"

#include "client/cli/text/amounts_and_times.h"

namespace kprof::cli {

void AppendCsvField(std::string& out, std::string_view text, bool first) {
  if (!first) out += ',';
  bool quoted = text.empty() || text.find_first_of(",\"\r\n") != std::string_view::npos || text.front() == ' ' ||
                text.back() == ' ';
  if (!quoted) {
    out += text;
    return;
  }
  out += '"';
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void AppendCsvAbsent(std::string& out, bool first) {
  if (!first) out += ',';
}

void AppendCsvEnd(std::string& out) {
  out += "\r\n";
}

namespace {

using Data = v1::ColumnData;

// x'00ff'.
std::string BlobText(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "x'";
  text.reserve(bytes.size() * 2 + 3);
  for (char c : bytes) {
    const uint8_t byte = static_cast<uint8_t>(c);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text + "'";
}

}  // namespace

bool ColumnCursor::Next(Cell& cell) {
  if (row_ >= data_.kinds_size()) return false;
  cell = Cell{.kind = data_.kinds(row_++), .integer = 0, .real = 0, .bytes = {}};
  switch (cell.kind) {
    case Data::KIND_UNSPECIFIED:
      return true;
    case Data::KIND_INTEGER:
      if (integer_ >= data_.integers_size()) return false;
      cell.integer = data_.integers(integer_++);
      return true;
    case Data::KIND_REAL:
      if (real_ >= data_.reals_size()) return false;
      cell.real = data_.reals(real_++);
      return true;
    case Data::KIND_TEXT:
      if (text_ >= data_.texts_size()) return false;
      cell.bytes = data_.texts(text_++);
      return true;
    case Data::KIND_BYTES:
      if (blob_ >= data_.blobs_size()) return false;
      cell.bytes = data_.blobs(blob_++);
      return true;
    default:
      return false;
  }
}

std::string RealText(double value) {
  std::string text = NumberText(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string CellText(const Cell& cell) {
  switch (cell.kind) {
    case Data::KIND_INTEGER:
      return std::to_string(cell.integer);
    case Data::KIND_REAL:
      return RealText(cell.real);
    case Data::KIND_TEXT:
      return std::string(cell.bytes);
    case Data::KIND_BYTES:
      return BlobText(cell.bytes);
    default:
      return "NULL";
  }
}

void WriteCell(JsonWriter& json, const Cell& cell) {
  switch (cell.kind) {
    case Data::KIND_INTEGER:
      json.Int(cell.integer);
      break;
    case Data::KIND_REAL:
      json.Double(cell.real);
      break;
    case Data::KIND_TEXT:
    case Data::KIND_BYTES:
      json.String(cell.bytes);
      break;
    default:
      json.Null();
  }
}

}  // namespace kprof::cli
