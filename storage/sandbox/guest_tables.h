// Tables that a query may read beside the catalog's: of traces, for one. Who has them offers them to the connection
// that runs the user's SQL; everything else about it (what is allowed, limits) stays with the sandbox.
//
// On the thread of the query, one at a time. Its work is within the query's budget; SQLite's memory counts as the
// query's, but for what it takes within a MemoryQuota::Pause; other memory where it is asked for (MemoryQuota::Take).
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

// On whose behalf a query runs: what is visible follows from it.
struct Viewer {
  uint32_t uid = 0;
  bool sees_all = false;    // else: the runs of this uid, and those that others share
  bool sees_audit = false;  // else it is empty
};

struct GuestTable {
  std::string name;     // in lower case; one of the catalog's of that name is not there then
  std::string columns;  // "id, name, ...", for messages
};

// Where guests come to: all of it outlives them.
struct GuestPlace {
  sqlite3* user;  // the connection that runs the user's SQL
  WorkBudget& budget;
  MemoryQuota& memory;
  // The sandbox's own connection to the catalog, as of the query's moment; null: there is none. It sees all rows:
  // guests show those of runs alone of which they were told that the viewer may see them.
  Db* catalog = nullptr;
};

class GuestTables {
 public:
  virtual ~GuestTables() = default;

  virtual std::span<const GuestTable> tables() const = 0;
  // Functions that come with them, in lower case. They only compute from their arguments.
  virtual std::span<const std::string_view> functions() const = 0;

  // Adds them to the connection, which is closed before this ends. Called once, before there is an authorizer. More
  // tables may be there from then on.
  virtual Status Offer(const GuestPlace& place) = 0;
  // The first failure of reading them; SQLite reports only its code. kCancelled is the budget's.
  virtual const Status& status() const = 0;
};

// "run, slice, ...": the catalog's tables and those of `guests`, which may be null.
std::string OfferedTableNames(const GuestTables* guests);
// Null where there is none of that name.
const GuestTable* FindGuestTable(const GuestTables* guests, std::string_view name);

}  // namespace kprof
