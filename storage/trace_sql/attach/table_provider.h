// Who is above this room and makes more tables of the parts that a query is about: functions that sum up, say. They
// come and go with the tables of traces.
#pragma once

#include <sqlite3.h>

#include <span>

#include "storage/base/status.h"
#include "storage/sandbox/guest_tables.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

class TableProvider {
 public:
  virtual ~TableProvider() = default;
  virtual std::span<const GuestTable> tables() const = 0;
  // Adds them to a connection that ends before the set; failures of reading are the set's. On the query's thread, which
  // may be any: it keeps nothing.
  virtual Status Offer(sqlite3* user, TraceSet& set) const = 0;
};

}  // namespace kprof
