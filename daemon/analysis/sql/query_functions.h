// The functions of traces as what comes with the tables of traces in a user's query (query_traces.h).
#pragma once

#include <span>
#include <vector>

#include "storage/trace_sql/attach/table_provider.h"

namespace kprof {

// Any thread.
class QueryFunctions final : public TableProvider {
 public:
  QueryFunctions();
  std::span<const GuestTable> tables() const override { return tables_; }
  Status Offer(sqlite3* user, TraceSet& set) const override;

 private:
  std::vector<GuestTable> tables_;
};

}  // namespace kprof
