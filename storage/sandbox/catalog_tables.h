// The tables that SQL sees of the catalog: their names, their columns, and for each the SQL over the raw tables that
// yields it. docs/sql.md describes them for users; a column here is a promise there. Knows nothing of who asks, apart
// from where in the SQL that goes (catalog_module.h fills it in).
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
  // The raw column to narrow a search with, such that `name OP x` implies `raw OP x`; null where there is none, which
  // also says that the value costs something: it is then only computed for queries that use it.
  const char* raw;
};

struct CatalogTable {
  const char* name;
  const char* key;   // of the columns: what tells rows apart
  const char* from;  // the raw table, with an alias
  // The raw column with the id of what a row belongs to: of a run, which says who may see it, or, where there is an
  // owner, of a row that only its owner and operators see.
  const char* run;
  const char* owner;  // null, or the raw column with the owner's uid
  std::span<const CatalogColumn> columns;
  // What the planner is told; the order of magnitude matters, no more.
  int64_t rows;
  int64_t rows_per_run;
  bool is_audit = false;  // for those who may see it, and then whole: its rows belong to nobody
};

std::span<const CatalogTable> CatalogTables();

// "id, uid, ..."
std::string CatalogColumnNames(const CatalogTable& table);

}  // namespace kprof
