#include "storage/trace_sql/trace_tables.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "storage/trace_sql/scan/scan_plan.h"
#include "storage/trace_sql/tables/args_json.h"
#include "storage/trace_sql/tables/side_tables.h"

namespace kprof {
namespace {

// What a module of SQLite's is told; it goes with its connection.
struct Offered {
  const TraceTable* table;
  TraceSet* set;
};

struct Table {
  sqlite3_vtab base;  // first: SQLite sees only this
  const Offered* offered;
};

struct Cursor {
  sqlite3_vtab_cursor base;  // first: SQLite sees only this
  std::unique_ptr<TraceScan> scan;
  std::string plan;  // what `read` was made of
  ReadPlan read;
};

const Offered& OfferedBy(sqlite3_vtab* table) {
  return *reinterpret_cast<Table*>(table)->offered;
}
Cursor& Of(sqlite3_vtab_cursor* cursor) {
  return *reinterpret_cast<Cursor*>(cursor);
}

int Told(sqlite3_vtab* table, const Status& status) {
  if (status.ok()) return SQLITE_OK;
  OfferedBy(table).set->Keep(status);
  if (status.code() == ErrorCode::kCancelled) return SQLITE_INTERRUPT;
  sqlite3_free(table->zErrMsg);
  table->zErrMsg = sqlite3_mprintf("%s", status.ToString().c_str());
  return SQLITE_ERROR;
}

std::string Declaration(const TraceTable& table) {
  std::string sql;
  for (const TraceColumn& column : table.columns) {
    sql += std::string(sql.empty() ? "" : ", ") + "\"" + column.name + "\" " + column.type +
           (column.is_hidden ? " HIDDEN" : "");
  }
  return "CREATE TABLE x(" + sql + ")";
}

int Connect(sqlite3* db, void* client, int, const char* const*, sqlite3_vtab** out, char**) noexcept {
  const auto* offered = static_cast<const Offered*>(client);
  const int result = sqlite3_declare_vtab(db, Declaration(*offered->table).c_str());
  if (result != SQLITE_OK) return result;
  sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
  auto* table = new (std::nothrow) Table{{}, offered};
  if (table == nullptr) return SQLITE_NOMEM;
  *out = &table->base;
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* table) noexcept {
  delete reinterpret_cast<Table*>(table);
  return SQLITE_OK;
}

int BestIndex(sqlite3_vtab* base, sqlite3_index_info* info) noexcept {
  const Offered& offered = OfferedBy(base);
  std::string plan;
  PlanScan(*offered.table, *offered.set, info, plan);
  if (plan.empty()) return SQLITE_OK;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}

int OpenCursor(sqlite3_vtab* base, sqlite3_vtab_cursor** out) noexcept {
  const Offered& offered = OfferedBy(base);
  auto* cursor = new (std::nothrow) Cursor{{}, offered.table->open(*offered.set, *offered.table), {}, {}};
  if (cursor == nullptr) return SQLITE_NOMEM;
  *out = &cursor->base;
  return SQLITE_OK;
}

int CloseCursor(sqlite3_vtab_cursor* cursor) noexcept {
  delete &Of(cursor);
  return SQLITE_OK;
}

int Filter(sqlite3_vtab_cursor* base, int, const char* given, int count, sqlite3_value** values) noexcept {
  Cursor& cursor = Of(base);
  const std::string_view plan = given == nullptr ? "" : given;
  if (cursor.plan != plan) {
    cursor.read = ReadScanPlan(*OfferedBy(base->pVtab).table, plan);
    cursor.plan = plan;
  }
  KPROF_CHECK(cursor.read.conditions.size() == static_cast<size_t>(count));
  for (size_t i = 0; i < cursor.read.conditions.size(); ++i) {
    if (!FillValues(cursor.read.conditions[i], values[i])) return SQLITE_NOMEM;
  }
  return Told(base->pVtab, cursor.scan->Start(cursor.read.conditions, cursor.read.order));
}

int Next(sqlite3_vtab_cursor* base) noexcept {
  if (Of(base).scan->NextAtHand()) return SQLITE_OK;
  return Told(base->pVtab, Of(base).scan->Next());
}

int AtEnd(sqlite3_vtab_cursor* base) noexcept {
  return Of(base).scan->AtEnd() ? 1 : 0;
}

int Column(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) noexcept {
  if (Of(base).scan->ColumnAtHand(column, context)) return SQLITE_OK;
  return Told(base->pVtab, Of(base).scan->Column(column, context));
}

int RowId(sqlite3_vtab_cursor* base, sqlite3_int64* id) noexcept {
  const Result<int64_t> found = Of(base).scan->RowId();
  if (!found.ok()) return Told(base->pVtab, found.status());
  *id = *found;
  return SQLITE_OK;
}

constexpr sqlite3_module kModule = {
    .iVersion = 0,
    .xCreate = nullptr,  // cannot be created by CREATE VIRTUAL TABLE: each is there once, under its module's name
    .xConnect = Connect,
    .xBestIndex = BestIndex,
    .xDisconnect = Disconnect,
    .xOpen = OpenCursor,
    .xClose = CloseCursor,
    .xFilter = Filter,
    .xNext = Next,
    .xEof = AtEnd,
    .xColumn = Column,
    .xRowid = RowId,
};

Status Refused(sqlite3* db, const std::string& what) {
  return Fail(ErrorCode::kInternal, what, sqlite3_errmsg(db));
}

Status OfferTable(sqlite3* db, const TraceTable& table, TraceSet& set, const TableChoice& choice) {
  if (choice.is_wanted && !choice.is_wanted(table.name)) return OkStatus();
  auto* offered = new Offered{&table, &set};
  const int result = sqlite3_create_module_v2(db, table.name, &kModule, offered,
                                              [](void* client) { delete static_cast<Offered*>(client); });
  return result == SQLITE_OK ? OkStatus() : Refused(db, std::string("offer table ") + table.name);
}

// SQLite's own, and functions of traces, some of which come later.
bool IsReserved(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"sqlite_", "json_", "pragma_", "analyze_"};
  const auto tables = TraceTables();
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](auto prefix) { return name.starts_with(prefix); }) ||
         std::any_of(tables.begin(), tables.end(), [&](const TraceTable& table) { return name == table.name; });
}

}  // namespace

std::span<const TraceTable> TraceTables() {
  static const TraceTable kTables[] = {SliceTable(),    InstantTable(), CounterTable(), FlowTable(),  FlowPointTable(),
                                       MetadataTable(), TrackTable(),   PartTable(),    MetricTable()};
  return kTables;
}

Status RegisterTraceTables(sqlite3* db, TraceSet& set, const TableChoice& choice) {
  if (RegisterArgFunction(db) != SQLITE_OK) return Refused(db, "register the function arg");
  for (const TraceTable& table : TraceTables()) {
    RETURN_IF_ERROR(OfferTable(db, table, set, choice));
  }
  const auto is_taken = [&](std::string_view name) {
    return IsReserved(name) || (choice.is_taken && choice.is_taken(name));
  };
  set.Keep(BroughtTables(set, is_taken));
  for (const auto& brought : set.brought_tables()) RETURN_IF_ERROR(OfferTable(db, brought->table, set, choice));
  return OkStatus();
}

}  // namespace kprof
