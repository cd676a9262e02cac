#include "storage/trace/format/side_table.h"

#include <algorithm>
#include <array>

namespace kprof {
namespace {

constexpr std::array<std::string_view, 3> kSideTypeNames = {"integer", "real", "text"};

bool IsSideName(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  constexpr std::string_view kOthers = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !name.empty() && name.size() <= kMostSideNameBytes && kLetters.find(name[0]) != kLetters.npos &&
         name.find_first_not_of(kOthers) == name.npos && !name.starts_with("sqlite_");
}

Status BadTable(std::string why) {
  return Fail(ErrorCode::kBadInput, "describe a side table", std::move(why));
}

}  // namespace

std::string_view SideTypeName(SideType type) {
  return kSideTypeNames[static_cast<size_t>(type) - 1];
}

std::optional<SideType> SideTypeByName(std::string_view name) {
  for (size_t i = 0; i < kSideTypeNames.size(); ++i) {
    if (kSideTypeNames[i] == name) return static_cast<SideType>(i + 1);
  }
  return std::nullopt;
}

Status CheckSideTable(const SideTable& table) {
  if (!IsSideName(table.name)) return BadTable("its name is none");
  const std::string of = table.name + " has ";
  if (table.columns.empty()) return BadTable(of + "no columns");
  if (table.columns.size() > kMostSideColumns) {
    return BadTable(of + "more than " + std::to_string(kMostSideColumns) + " columns");
  }
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const SideColumn& column = table.columns[i];
    const auto type = static_cast<size_t>(column.type);
    if (!IsSideName(column.name) || column.name == "run" || column.name == "part") {
      return BadTable(of + "a column " + std::to_string(i) + " whose name is none");
    }
    if (type < 1 || type > kSideTypeNames.size()) return BadTable(of + "a column " + column.name + " of no type");
    if (column.unit.size() > kMostSideNameBytes) return BadTable(of + "a column " + column.name + " of a long unit");
    const auto first = table.columns.begin();
    const auto is_same = [&](const SideColumn& other) { return other.name == column.name; };
    if (std::any_of(first, first + static_cast<ptrdiff_t>(i), is_same)) {
      return BadTable(of + "two columns " + column.name);
    }
  }
  return OkStatus();
}

EncodedSideSegment EncodeSideRows(uint32_t table, const SideRows& of, size_t first, size_t rows) {
  EncodedSideSegment segment;
  segment.table = table;
  segment.rows = static_cast<uint32_t>(rows);
  for (const std::vector<int64_t>& column : of.columns) {
    segment.columns.push_back(EncodeColumn(std::span(column).subspan(first, rows)));
  }
  return segment;
}

}  // namespace kprof
