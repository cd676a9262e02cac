// The traces of some runs as guests of a user's query (sandbox/guest_tables.h): taken from the pool when the query
// begins, within its time; what their files take of memory is bounded by their readers, the rest is the query's.
#pragma once

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
  // What is given by reference must outlive it; the provider may be null.
  // `runs`: all that the query is about, those without a trace among them; what the catalog keeps of them is shown too.
  QueryTraces(std::vector<TracePlace> places, PartPool& pool, const TableProvider* provider = nullptr,
              std::vector<std::string> runs = {});

  std::span<const GuestTable> tables() const override { return tables_; }
  std::span<const std::string_view> functions() const override;
  Status Offer(const GuestPlace& place) override;
  const Status& status() const override;

 private:
  const std::vector<TracePlace> places_;
  const std::vector<std::string> runs_;
  PartPool& pool_;
  const TableProvider* const provider_;
  std::vector<GuestTable> tables_;
  std::unique_ptr<TraceSet> set_;
};

}  // namespace kprof
