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
#include "storage/sandbox/sql_words.h"
#include "storage/sandbox/work_budget.h"

namespace kprof {

// The user for whom a query runs. It decides which rows are visible.
struct Viewer {
  uint32_t uid = 0;
  bool sees_all = false;    // else: the runs of this uid, and those that others share
  bool sees_audit = false;  // else it is empty
};

// Its texts live as long as the guests.
struct GuestTable {
  std::string_view name;     // in lower case; it hides a catalog table of that name
  std::string_view columns;  // "id, name, ...", for messages
  // The beginning of its name that it shares with many others: messages name them once, as "analyze_<...>". Empty:
  // none.
  std::string_view family = {};
};

// The place that guests are offered to: all of it outlives them.
struct GuestPlace {
  sqlite3* user;          // the connection that runs the user's SQL
  const SqlWords& words;  // of that SQL: tables that are none of them are not needed
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

  // Adds the tables that the query may name to the connection, which is closed before this object ends. The sandbox
  // connects them. Called once. tables() may grow by it.
  virtual Status Offer(const GuestPlace& place) = 0;
  // Looks at the statement before it is prepared, on the connection as it will then be: with its limits, and with an
  // authorizer that refuses what is refused then. It is the only one of the connection. A statement that SQLite does
  // not take is no failure.
  virtual Status Study(sqlite3*, const std::string&) { return OkStatus(); }
  // The first failure of reading the tables; SQLite reports only its code. kCancelled is the budget's.
  virtual const Status& status() const = 0;
};

// "run, slice, ...": the catalog's tables and those of `guests`, which may be null; of a family one name.
std::string OfferedTableNames(const GuestTables* guests);
// Names of tables of one family that have a word in common with `name`, "a, b"; empty: there is none, or `name` is of
// no family.
std::string RelatedTableNames(const GuestTables* guests, std::string_view name);
// Null when no guest table has that name.
const GuestTable* FindGuestTable(const GuestTables* guests, std::string_view name);

}  // namespace kprof
