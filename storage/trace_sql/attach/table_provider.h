// More tables of a query's parts, provided by a room above this one: functions that sum up, for example. They come and
// go with the tables of traces.
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
  // Adds those that are among `words` to a connection that ends before the set. Failures of reading go to the set. On
  // the query's thread, which may be any: the provider keeps no state.
  virtual Status Offer(sqlite3* user, const SqlWords& words, TraceSet& set) const = 0;
};

}  // namespace kprof
