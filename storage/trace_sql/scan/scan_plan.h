// How SQLite's questions about a table are planned: which conditions go inside, and what rows and time that takes. The
// plan is text, so that EXPLAIN QUERY PLAN shows it: "ts_ns>= ts_ns< name:glob", each word a condition whose value is
// the next argument; behind them, where rows come in the order of a column, "group:name", "distinct:name" or
// "order-desc:name", and "+ts_ns" for each other column that is then read.
#pragma once

#include <sqlite3.h>

#include <span>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// Fills in what SQLite asks for, and `plan`.
void PlanScan(const TraceTable& table, TraceSet& set, sqlite3_index_info* info, std::string& plan);

// A plan taken apart, for its values.
struct ReadPlan {
  std::vector<ScanCondition> conditions;  // without their values
  TraceScan::Order order;
};
ReadPlan ReadScanPlan(const TraceTable& table, std::string_view plan);

// The value of a condition; a list is told whole. Nothing when memory ran out.
bool FillValues(ScanCondition& condition, sqlite3_value* value);

}  // namespace kprof
