// How a call of a function is planned: which of its arguments and conditions it is handed. The plan is text, so that
// EXPLAIN QUERY PLAN shows it, in the words of scan_plan.h: "by= category= ts_ns>=", and behind them,
// with a plus sign, the columns that cost something and are read.
//
// A condition on a text that ignores case has "nocase:" before it. SQLite adds ranges of its own to GLOB and LIKE,
// which are taken too, or it would try the pattern again.
//
// Conditions on the fields of slices say what a call is about, so they are met when its rows are there: SQLite does not
// try them again, and cannot; but for those that leave out, of what the rows have.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/sql/trace_function.h"
#include "storage/trace_sql/scan/scan_condition.h"

namespace kprof {

// What it gives is SQLite's: SQLITE_CONSTRAINT where another order of tables must be found.
int PlanCall(const TraceFunction& function, int64_t slices, sqlite3_index_info* info, std::string& plan);

struct CallCondition {
  ScanCondition test;  // its column is one of the function's
  bool ignores_case = false;

  bool operator==(const CallCondition&) const = default;
};
struct ReadCall {
  std::vector<CallCondition> conditions;  // without values
  uint64_t costly = 0;                    // as FunctionCall has it
};
ReadCall ReadCallPlan(const TraceFunction& function, std::string_view plan);

}  // namespace kprof
