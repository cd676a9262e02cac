// Offers functions of traces to a query as SQLite's table-valued functions. A call is made when its first row is asked
// for, and again only with other values, or if its rows came in windows. Its rows are kept until then, and count as the
// query's memory.
//
// A failure is SQLITE_ERROR with our words as SQLite's message; TraceSet::status has it whole.
#pragma once

#include <sqlite3.h>

#include <span>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/attach/table_provider.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// The functions, for a user's query that has tables of traces (query_traces.h). Any thread.
class QueryFunctions final : public TableProvider {
 public:
  QueryFunctions();
  std::span<const GuestTable> tables() const override { return tables_; }
  Status Offer(sqlite3* user, TraceSet& set) const override;

 private:
  std::vector<GuestTable> tables_;
};

// Adds them to a connection. The parts must be in `set`, which must outlive the connection.
// REQUIRES: called once, before an authorizer is set (it would be asked about the tables' declarations).
Status RegisterTraceFunctions(sqlite3* db, TraceSet& set);

}  // namespace kprof
