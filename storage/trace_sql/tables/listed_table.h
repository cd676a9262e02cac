// Tables of few rows that are all in memory: each condition is tried on each row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "storage/trace_sql/trace_tables.h"

namespace kprof {

struct ListedRow {
  OpenPart* part = nullptr;
  size_t number = 0;  // among those of its part
};

struct ListedTable {
  size_t (*rows)(const OpenPart& part);
  // The values that conditions compare: an integer or kNoValue, and a text. Called only for columns whose role hands
  // conditions inside.
  int64_t (*integer)(const ListedRow& row, int column);
  const std::string& (*text)(const ListedRow& row, int column);
  void (*result)(const ListedRow& row, int column, sqlite3_context* out);
};

// Both live as long as the program.
std::unique_ptr<TraceScan> OpenListedTable(TraceSet& set, const ListedTable& table,
                                           std::span<const TraceColumn> columns);

}  // namespace kprof
