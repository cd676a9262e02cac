// The traces of some runs as guests of a user's query (sandbox/guest_tables.h). They are taken from the pool when the
// query begins, within the query's time. Their readers bound the memory for their files; all other memory is the
// query's.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/sandbox/guest_tables.h"
#include "storage/trace/read/part_pool.h"
#include "storage/trace_sql/attach/table_provider.h"
#include "storage/trace_sql/parts/open_part.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

class QueryTraces final : public GuestTables {
 public:
  // `pool` and `provider` must outlive this object; `provider` may be null. `runs`: all runs that the query is about,
  // also those without a trace. The tables also show what the catalog keeps of them.
  QueryTraces(std::vector<TracePlace> places, PartPool& pool, const TableProvider* provider = nullptr,
              std::vector<std::string> runs = {});

  std::span<const GuestTable> tables() const override { return tables_; }
  std::span<const std::string_view> functions() const override;
  Status Offer(const GuestPlace& place) override;
  Status Study(sqlite3* user, const std::string& sql) override;
  const Status& status() const override;

 private:
  const std::vector<TracePlace> places_;
  const std::vector<std::string> runs_;
  PartPool& pool_;
  const TableProvider* const provider_;
  std::vector<GuestTable> tables_;
  std::deque<std::string> brought_columns_;  // stay where they are
  std::unique_ptr<TraceSet> set_;
};

}  // namespace kprof
