// The functions of traces, for a user's query that has tables of traces (query_traces.h). Any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace_sql/attach/table_provider.h"

namespace kprof {

class QueryFunctions final : public TableProvider {
 public:
  QueryFunctions();
  std::span<const GuestTable> tables() const override { return tables_; }
  Status Offer(sqlite3* user, const SqlWords& words, TraceSet& set) const override;

 private:
  std::vector<std::string> columns_;  // of each table
  std::vector<GuestTable> tables_;
};

}  // namespace kprof
