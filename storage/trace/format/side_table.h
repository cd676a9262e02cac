// A side table of a part: rows of named, typed columns beside its events (docs/trace_format.md). A new one needs no new
// version of the format: its name and columns stand in the part. Knows no table's purpose; metric_table.h, for example,
// knows that of `metric`.
//
// Values are 64-bit integers, as those of events are: an integer, the bits of a double, the number of a string of the
// part. Pure; any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/column_codec.h"
#include "storage/trace/format/trace_model.h"

namespace kprof {

enum class SideType : uint8_t { kInteger = 1, kReal = 2, kText = 3 };

struct SideColumn {
  std::string name;
  SideType type = SideType::kInteger;
  std::string unit;  // of its values; empty: none, or each row says its own
  bool operator==(const SideColumn&) const = default;
};

struct SideTable {
  std::string name;
  std::vector<SideColumn> columns;
  bool operator==(const SideTable&) const = default;
};

constexpr size_t kMostSideTables = 64;
constexpr size_t kMostSideColumns = 64;
constexpr size_t kMostSideNameBytes = 64;              // of a table, a column, a unit
constexpr int64_t kMostSideRows = int64_t{1} << 32;    // of one table
constexpr int64_t kMostSideBytes = int64_t{16} << 30;  // of all tables, encoded

// No value is kNoValue for integers and texts, and the bits of NaN for reals, as kNoValue has the bits of -0.0.
constexpr int64_t kNoReal = std::bit_cast<int64_t>(std::numeric_limits<double>::quiet_NaN());

// "real": how the part names a type.
std::string_view SideTypeName(SideType type);
std::optional<SideType> SideTypeByName(std::string_view name);

// Fails with kBadInput for a table that no part may have: a name that is not [a-z][a-z0-9_]*, a column `run` or `part`,
// which SQL adds, two columns of one name, no columns, or too many.
Status CheckSideTable(const SideTable& table);

// Rows in memory, column by column.
struct SideRows {
  SideTable table;
  std::vector<std::vector<int64_t>> columns;  // one for each of the table's, of one size

  SideRows() = default;
  explicit SideRows(const SideTable& of) : table(of), columns(of.columns.size()) {}
  size_t size() const { return columns.empty() ? 0 : columns.front().size(); }
  // REQUIRES: a value for each column.
  void Add(std::span<const int64_t> row) {
    for (size_t i = 0; i < columns.size(); ++i) columns[i].push_back(row[i]);
  }
};

// Some of a table's rows on their way into the part: at most kMaxSegmentRows.
struct EncodedSideSegment {
  uint32_t table = 0;  // its number
  uint32_t rows = 0;
  std::vector<EncodedColumn> columns;  // in the table's order
};

// Encodes `rows` rows from row `first` on. REQUIRES: 1 to kMaxSegmentRows, and they are there.
EncodedSideSegment EncodeSideRows(uint32_t table, const SideRows& of, size_t first, size_t rows);

}  // namespace kprof
