// Offers functions of traces to a connection as SQLite's table-valued functions. A call is made when its first row is
// asked for, and again only with other values, or if its rows came in windows. Its rows are kept until then, and count
// as the query's memory.
//
// A failure is SQLITE_ERROR with our words as SQLite's message; TraceSet::status has it whole.
#pragma once

#include <sqlite3.h>

#include "storage/base/status.h"
#include "storage/trace_sql/trace_set.h"
#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// Adds those that `choice` wants to a connection, which connects each at its first use. The parts must be in `set`,
// which must outlive the connection. REQUIRES: called once.
Status RegisterTraceFunctions(sqlite3* db, TraceSet& set, const TableChoice& choice = {});

}  // namespace kprof
