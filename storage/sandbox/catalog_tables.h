// The tables that SQL sees of the catalog: their names, their columns, and for each the SQL over the raw tables that
// yields it. docs/sql.md describes them for users; a column here is a promise there. Knows nothing of the viewer, only
// the place in the SQL where the condition for the viewer goes (catalog_module.h adds it).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kprof {

struct CatalogColumn {
  const char* name;
  const char* type;   // INTEGER, REAL or TEXT
  const char* value;  // over the raw tables
  // The raw column to narrow a search with: `name OP x` implies `raw OP x`. Null: there is none. The value then costs
  // something and is computed only for queries that use it.
  const char* raw;
};

struct CatalogTable {
  const char* name;
  const char* key;   // the columns that tell rows apart
  const char* from;  // the raw table, with an alias
  // The raw column with the id of the run or session that a row belongs to. Without `owner` it is a run, which says who
  // may see the row; with `owner`, only the owner and operators see the row.
  const char* run;
  const char* owner;  // null, or the raw column with the owner's uid
  std::span<const CatalogColumn> columns;
  // Row counts for the planner; only the order of magnitude matters.
  int64_t rows;
  int64_t rows_per_run;
  bool is_audit = false;  // its rows belong to nobody: a viewer sees all of them, or none
};

std::span<const CatalogTable> CatalogTables();

// "id, uid, ..."
std::string CatalogColumnNames(const CatalogTable& table);

}  // namespace kprof
