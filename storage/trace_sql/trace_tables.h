// Traces as SQL's tables: slice, instant, counter, flow, flow_point, metadata, track, trace and metric, the side tables
// of the set's parts under their own names, and the function arg.
// Conditions are handed inside where they narrow what is read (scan_plan.h); columns are decoded when a value of them
// is asked for.
//
// A table's failure is SQLITE_ERROR with our words as SQLite's message; TraceSet::status has it whole.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <string_view>

#include "storage/base/status.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Adds them to a connection. The parts must be in `set`, which must outlive the connection. Side tables of a name that
// is another table's, here or by `is_taken`, are not shown.
// REQUIRES: called once, before an authorizer is set (it would be asked about the tables' declarations).
Status RegisterTraceTables(sqlite3* db, TraceSet& set, const std::function<bool(std::string_view)>& is_taken = nullptr);

}  // namespace kprof
