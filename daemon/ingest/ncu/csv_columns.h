// The head of a table that Nsight Compute prints as CSV, and the lines that belong to the table.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kprof {

// The places of the columns that all pages have, by their names, and of those of the details page.
struct CsvColumns {
  char delimiter = ',';
  bool is_raw = false;
  size_t id = 0;
  size_t process_id = kNone;
  size_t process = kNone;
  size_t kernel = kNone;
  size_t context = kNone;
  size_t stream = kNone;
  size_t block = kNone;
  size_t grid = kNone;
  size_t device = kNone;
  size_t capability = kNone;
  size_t section = kNone;
  size_t metric = kNone;
  size_t unit = kNone;
  size_t value = kNone;
  size_t rule = kNone;
  size_t rule_type = kNone;
  size_t rule_text = kNone;
  size_t speedup_type = kNone;
  size_t speedup = kNone;
  size_t device_name = kNone;  // a metric of the raw page
  static constexpr size_t kNone = SIZE_MAX;
};

// The delimiter of a line that is the table's head. Nothing: it is none.
std::optional<char> DelimiterOfHead(std::string_view line);

// Takes the names of the columns.
CsvColumns ReadCsvHead(const std::vector<std::string_view>& names, char delimiter);

// True for a column with values of metrics, or of rules: others are alike in every locale.
bool HasValues(std::string_view column);

// The head of a summary over launches (--print-summary).
bool IsHeadOfSummary(std::string_view line);

// A row begins with its launch's number, or with nothing, as the row of units does; the table's head with "ID".
bool BeginsCsvRow(std::string_view line);

// A line without the mark of UTF-8 before it.
std::string_view WithoutMark(std::string_view line);

}  // namespace kprof
