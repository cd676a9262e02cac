// Plans SQLite's questions about a table: which conditions go inside, and the rows and time that this takes. The plan
// is text, so EXPLAIN QUERY PLAN shows it: "ts_ns>= ts_ns< name:glob". Each word is a condition whose value is the next
// argument. If rows come in the order of a column, "group:name", "distinct:name" or "order-desc:name" follows, and
// "+ts_ns" for each other column that is then read. "top-desc:dur_ns:10": the first ten in that order, and no others.
// Columns of shortcuts are numbers: "sum:3,4" (rows come summed up) and "object:10" (arguments come for arg() alone).
#pragma once

#include <sqlite3.h>

#include <span>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// Fills in `info` for SQLite, and `plan`.
void PlanScan(const TraceTable& table, TraceSet& set, sqlite3_index_info* info, std::string& plan);

// A plan taken apart, ready to take its values.
struct ReadPlan {
  std::vector<ScanCondition> conditions;  // without their values
  TraceScan::Order order;
};
ReadPlan ReadScanPlan(const TraceTable& table, std::string_view plan);

// Sets the values of a condition; a list is taken whole. False when memory ran out.
bool FillValues(ScanCondition& condition, sqlite3_value* value);

}  // namespace kprof
