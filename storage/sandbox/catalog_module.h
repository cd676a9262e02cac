// The catalog's tables as virtual tables on the connection that runs a user's query. Their rows are read through
// another connection that the user's SQL cannot reach. The SQL can name no raw table, and the visible rows are chosen
// before the SQL sees any row.
//
// Why not views: SQLite folds a view into the query and is free to evaluate the user's conditions before the view's
// own. Measured with 3.40: a label that its viewer must not see came out in the error message of
// `SELECT * FROM label WHERE json_extract('{}', value)`. And the authorizer takes a common table expression for the
// view whose name it bears, so "raw tables only from inside views" can be talked round.
//
// Equalities and ranges on plain columns, and the order of runs, are handed to the inner connection, so looking up a
// run costs microseconds; SQLite checks the conditions again. Conditions that could find fewer rows inside than
// outside, with a value of another type than the column, are not handed on.
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"
#include "storage/sandbox/catalog_tables.h"
#include "storage/sandbox/guest_tables.h"

namespace kprof {

// A command line as people read it, made from the catalog's form: each argument, then a zero byte.
std::string CommandText(std::string_view zero_ended_arguments);

class CatalogModule {
 public:
  // `catalog` is the inner connection; it must outlive this object.
  CatalogModule(Db& catalog, const Viewer& viewer);
  CatalogModule(const CatalogModule&) = delete;
  CatalogModule& operator=(const CatalogModule&) = delete;

  // Adds the tables that are among `words` to the connection `user`, which must be closed before this object ends.
  // Leaves out tables of which `guests` (may be null) have one of the same name. Called once.
  Status Offer(sqlite3* user, const SqlWords& words, const GuestTables* guests = nullptr);

  // The first failure of the inner connection. The user's connection reports only SQLite's code.
  const Status& status() const { return status_; }

  // The rest is for SQLite's callbacks. One table on offer:
  struct Offered {
    CatalogModule* module;
    const CatalogTable* table;
  };
  sqlite3* catalog() { return catalog_.handle(); }
  // The SQL condition by which the viewer sees only allowed raw rows of the table; empty when all are visible.
  // `one_run`: the rows are of one run already. `in_order`: the rows are wanted in the order of their runs' ids.
  std::string VisibleOnly(const CatalogTable& table, bool one_run, bool in_order) const;
  // Remembers a failure of the inner connection, and returns it.
  int Keep(int result) noexcept;

 private:
  Db& catalog_;
  const Viewer viewer_;
  std::vector<Offered> offered_;  // does not move after Offer: SQLite keeps pointers
  Status status_;
};

}  // namespace kprof
