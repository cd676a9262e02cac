// Tables that a query may read beside the catalog's, such as those of traces. Their owner offers them to the connection
// that runs the user's SQL. The sandbox still decides all else about that connection (what is allowed, limits).
//
// On the thread of the query, one at a time. Their work is part of the query's budget. SQLite's memory counts as the
// query's, except within a MemoryQuota::Pause. Other memory counts where it is asked for (MemoryQuota::Take).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/sandbox/memory_quota.h"
#include "storage/sandbox/work_budget.h"

namespace kprof {

// The user for whom a query runs. It decides which rows are visible.
struct Viewer {
  uint32_t uid = 0;
  bool sees_all = false;    // else: the runs of this uid, and those that others share
  bool sees_audit = false;  // else it is empty
};

struct GuestTable {
  std::string name;     // in lower case; it hides a catalog table of that name
  std::string columns;  // "id, name, ...", for messages
};

// The place that guests are offered to: all of it outlives them.
struct GuestPlace {
  sqlite3* user;  // the connection that runs the user's SQL
  WorkBudget& budget;
  MemoryQuota& memory;
  // The sandbox's own connection to the catalog, as of the query's moment; null: there is none. It sees all rows, so
  // guests must show only rows of runs that their maker said the viewer may see.
  Db* catalog = nullptr;
};

class GuestTables {
 public:
  virtual ~GuestTables() = default;

  virtual std::span<const GuestTable> tables() const = 0;
  // Functions of the guests, in lower case. They only compute from their arguments.
  virtual std::span<const std::string_view> functions() const = 0;

  // Adds the tables to the connection, which is closed before this object ends. Called once, before there is an
  // authorizer. tables() may grow by it.
  virtual Status Offer(const GuestPlace& place) = 0;
  // The first failure of reading the tables; SQLite reports only its code. kCancelled is the budget's.
  virtual const Status& status() const = 0;
};

// "run, slice, ...": the catalog's tables and those of `guests`, which may be null.
std::string OfferedTableNames(const GuestTables* guests);
// Null when no guest table has that name.
const GuestTable* FindGuestTable(const GuestTables* guests, std::string_view name);

}  // namespace kprof
