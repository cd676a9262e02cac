#include "daemon/ingest/ncu/csv_columns.h"

#include <algorithm>
#include <iterator>

namespace kprof {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";  // of UTF-8

struct CsvColumnName {
  std::string_view name;
  size_t CsvColumns::*place;
};
constexpr CsvColumnName kCsvColumnNames[] = {
    {"ID", &CsvColumns::id},
    {"Process ID", &CsvColumns::process_id},
    {"Process Name", &CsvColumns::process},
    {"Kernel Name", &CsvColumns::kernel},
    {"Context", &CsvColumns::context},
    {"Stream", &CsvColumns::stream},
    {"Block Size", &CsvColumns::block},
    {"Grid Size", &CsvColumns::grid},
    {"Device", &CsvColumns::device},
    {"CC", &CsvColumns::capability},
    {"Section Name", &CsvColumns::section},
    {"Metric Name", &CsvColumns::metric},
    {"Metric Unit", &CsvColumns::unit},
    {"Metric Value", &CsvColumns::value},
    {"Rule Name", &CsvColumns::rule},
    {"Rule Type", &CsvColumns::rule_type},
    {"Rule Description", &CsvColumns::rule_text},
    {"Estimated Speedup Type", &CsvColumns::speedup_type},
    {"Estimated Speedup", &CsvColumns::speedup},
};
// Columns that are read by nobody: the host is private, the time is one for people.
constexpr std::string_view kUnreadCsvColumns[] = {"Host Name", "Kernel Time"};

}  // namespace

std::string_view WithoutMark(std::string_view line) {
  return line.starts_with(kMark) ? line.substr(kMark.size()) : line;
}

bool BeginsCsvRow(std::string_view line) {
  line = WithoutMark(line);
  if (line.starts_with("\"ID\"") || line.starts_with("ID,") || line.starts_with("ID;") || line.starts_with("ID\t")) {
    return true;
  }
  const bool is_quoted = line.starts_with('"');
  if (is_quoted) line.remove_prefix(1);
  while (!line.empty() && line.front() >= '0' && line.front() <= '9') line.remove_prefix(1);
  if (is_quoted) {
    if (!line.starts_with('"')) return false;
    line.remove_prefix(1);
  }
  return line.starts_with(',') || line.starts_with(';') || line.starts_with('\t');
}

bool HasValues(std::string_view column) {
  if (column == "Metric Value" || column == "Estimated Speedup") return true;
  const auto is_it = [&](const CsvColumnName& each) { return each.name == column; };
  return std::none_of(std::begin(kCsvColumnNames), std::end(kCsvColumnNames), is_it) &&
         std::find(std::begin(kUnreadCsvColumns), std::end(kUnreadCsvColumns), column) == std::end(kUnreadCsvColumns);
}

std::optional<char> DelimiterOfHead(std::string_view line) {
  line = WithoutMark(line);
  const bool is_quoted = line.starts_with('"');
  const std::string_view id = is_quoted ? "\"ID\"" : "ID";
  if (!line.starts_with(id) || line.size() <= id.size() || line.find("Kernel Name") == line.npos) return std::nullopt;
  const char delimiter = line[id.size()];
  return delimiter == ',' || delimiter == ';' || delimiter == '\t' ? std::optional(delimiter) : std::nullopt;
}

CsvColumns ReadCsvHead(const std::vector<std::string_view>& names, char delimiter) {
  CsvColumns columns;
  columns.delimiter = delimiter;
  for (size_t i = 0; i < names.size(); ++i) {
    for (const CsvColumnName& each : kCsvColumnNames) {
      if (names[i] == each.name) columns.*(each.place) = i;
    }
    if (names[i] == "device__attribute_display_name") columns.device_name = i;
  }
  columns.is_raw = columns.metric == CsvColumns::kNone || columns.value == CsvColumns::kNone;
  return columns;
}

bool IsHeadOfSummary(std::string_view line) {
  line = WithoutMark(line);
  return (line.starts_with("\"Process ID\"") || line.starts_with("\"Device\"")) &&
         line.find("\"Kernel Name\"") != line.npos && line.find("\"Invocations\"") != line.npos;
}

}  // namespace kprof
