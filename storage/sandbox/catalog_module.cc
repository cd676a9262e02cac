#include "storage/sandbox/catalog_module.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/readable_text.h"
#include "storage/catalog/run_table.h"

namespace kprof {

std::string CommandText(std::string_view zero_ended_arguments) {
  std::string text;
  for (const std::string& word : Split(zero_ended_arguments)) {
    if (!text.empty()) text += ' ';
    text += ShellWord(word);
  }
  return text;
}

namespace {

using Offered = CatalogModule::Offered;

struct Table {
  sqlite3_vtab base;  // first: SQLite sees only this
  const Offered* offered;
};

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

struct Cursor {
  sqlite3_vtab_cursor base;  // first: SQLite sees only this
  std::unique_ptr<sqlite3_stmt, Finalize> rows;
  std::string plan;  // this and the next two: what `rows` was prepared for
  std::string kinds;
  int computed = 0;
  bool at_end = true;
};

const Offered& OfferedBy(sqlite3_vtab* table) {
  return *reinterpret_cast<Table*>(table)->offered;
}
Cursor& Of(sqlite3_vtab_cursor* cursor) {
  return *reinterpret_cast<Cursor*>(cursor);
}

std::string Declaration(const CatalogTable& table) {
  std::string sql = "CREATE TABLE x(";
  for (const CatalogColumn& column : table.columns) sql += std::string("\"") + column.name + "\" " + column.type + ", ";
  // Without a rowid: a search for this OR that tells rows apart by the key, for which a rowid would have to be stable.
  return sql + "PRIMARY KEY(" + table.key + ")) WITHOUT ROWID";
}

int Connect(sqlite3* user, void* client, int, const char* const*, sqlite3_vtab** out, char**) noexcept {
  const auto* offered = static_cast<const Offered*>(client);
  const int result = sqlite3_declare_vtab(user, Declaration(*offered->table).c_str());
  if (result != SQLITE_OK) return result;
  auto* table = new (std::nothrow) Table{{}, offered};
  if (table == nullptr) return SQLITE_NOMEM;
  *out = &table->base;
  return SQLITE_OK;
}

int Disconnect(sqlite3_vtab* table) noexcept {
  delete reinterpret_cast<Table*>(table);
  return SQLITE_OK;
}

// The plan is text, so that EXPLAIN QUERY PLAN shows it: "run= value> desc". Each word but the last is a condition,
// whose value is the next argument of Filter; the number beside it is a bit per computed column that the query uses.
//
// What a condition yields inside must hold all that SQLite, which checks again, may accept. Before it compares, SQLite
// turns a side into the other's type, depending on what both were declared as; inside, the value is one of no declared
// type. That is the same for columns of numbers. A column of texts is itself turned into numbers beside something
// declared a number, so:
// - "key=" and "key>": for a text that is written in the query;
// - "run=?": for anything else, to find a run, for which it is worth the trouble; only Filter sees what it is;
// - "key=any": for IN, with all its values at once, as SQLite would check them one by one as texts.
// What remains is `(run, x) IN (SELECT ...)`, whose parts look like "run=?" and which SQLite checks as texts: ids of
// runs are no numbers.

enum Kind : char {
  kAsItIs,
  kNumber,   // for a column of texts: either side may be turned into the other's type
  kDropped,  // not to be looked for inside
};

const char* OperatorText(int op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return "=";
    case SQLITE_INDEX_CONSTRAINT_GT:
      return ">";
    case SQLITE_INDEX_CONSTRAINT_GE:
      return ">=";
    case SQLITE_INDEX_CONSTRAINT_LT:
      return "<";
    case SQLITE_INDEX_CONSTRAINT_LE:
      return "<=";
    default:
      return nullptr;
  }
}

bool IsRun(const CatalogTable& table, const CatalogColumn& column) {
  return column.raw != nullptr && std::string_view(column.raw) == table.run;
}

bool IsText(const CatalogColumn& column) {
  return std::string_view(column.type) == "TEXT";
}

// How the plan writes a condition; null when it is not handed inside.
const char* PlannedOperator(sqlite3_index_info* info, int i, const CatalogTable& table, const CatalogColumn& column) {
  const char* op = OperatorText(info->aConstraint[i].op);
  if (op == nullptr || !IsText(column)) return op;
  if (sqlite3_vtab_in(info, i, 1) != 0) return "=any";
  sqlite3_value* written = nullptr;
  if (sqlite3_vtab_rhs_value(info, i, &written) == SQLITE_OK && sqlite3_value_type(written) == SQLITE_TEXT) return op;
  return info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ && IsRun(table, column) ? "=?" : nullptr;
}

constexpr double kAnyCount = 25;  // values of an IN, as SQLite guesses, too

int BestIndex(sqlite3_vtab* base, sqlite3_index_info* info) noexcept {
  const CatalogTable& table = *OfferedBy(base).table;
  std::string plan;
  int arguments = 0;
  bool one_run = false;
  bool unique = false;
  auto scanned = static_cast<double>(table.rows);  // rows that the inner connection reads
  double rows = scanned;                           // of them, those that pass
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (!constraint.usable || constraint.iColumn < 0) continue;
    const CatalogColumn& column = table.columns[static_cast<size_t>(constraint.iColumn)];
    if (column.raw == nullptr || std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0) continue;
    const char* planned = PlannedOperator(info, i, table, column);
    if (planned == nullptr) continue;
    const std::string_view op = planned;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    plan += std::string(plan.empty() ? "" : " ") + column.name + planned;
    const bool equal = constraint.op == SQLITE_INDEX_CONSTRAINT_EQ;
    const double count = op == "=any" ? kAnyCount : 1;
    if (IsRun(table, column)) {
      one_run = one_run || equal;
      unique = unique || op == "=";
      scanned = equal ? count * static_cast<double>(table.rows_per_run) : scanned / 3;
      rows = std::min(rows, scanned);
    } else {
      rows /= equal ? std::max(2.0, 10 / count) : 2;
      if (equal && std::string_view(column.raw) == "l.key" && !one_run) scanned /= 10;  // has an index
    }
  }
  const auto& order = info->aOrderBy;
  if (info->nOrderBy > 0 && order[0].iColumn >= 0 &&
      IsRun(table, table.columns[static_cast<size_t>(order[0].iColumn)]) &&
      (info->nOrderBy == 1 || table.rows_per_run == 1)) {  // no two rows of one id to order further
    info->orderByConsumed = 1;
    plan += std::string(plan.empty() ? "" : " ") + (order[0].desc ? "desc" : "asc");
  }
  int computed = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].raw == nullptr && (info->colUsed >> i & 1) != 0) computed |= 1 << i;
  }
  if (unique && table.rows_per_run == 1) info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  info->idxNum = computed;
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, rows));
  info->estimatedCost = 20 + 2 * scanned;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}

const CatalogColumn* FindColumn(const CatalogTable& table, std::string_view name) {
  for (const CatalogColumn& column : table.columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

// A condition of the plan on the raw column, in the inner connection's SQL.
std::string Condition(const std::string& raw, std::string_view op, const std::string& value, char kind) {
  if (op == "=any") return raw + " IN (SELECT value FROM json_each(" + value + "))";
  if (kind == kNumber) {
    return "(" + raw + " = CAST(" + value + " AS TEXT) OR " + raw + " = CAST(" + value + " AS NUMERIC))";
  }
  return raw + " " + std::string(op == "=?" ? "=" : op) + " " + value;
}

std::string RowsSql(const Offered& offered, std::string_view plan, std::string_view kinds, int computed) {
  const CatalogTable& table = *offered.table;
  std::string where;
  std::string order;
  bool one_run = false;
  size_t argument = 0;
  while (!plan.empty()) {
    const std::string_view word = plan.substr(0, plan.find(' '));
    plan.remove_prefix(std::min(plan.size(), word.size() + 1));
    const size_t op = word.find_first_of("<=>");
    if (op == std::string_view::npos) {
      order = std::string(" ORDER BY ") + table.run + (word == "desc" ? " DESC" : "");
      continue;
    }
    const CatalogColumn* column = FindColumn(table, word.substr(0, op));
    KPROF_CHECK(column != nullptr);
    const char kind = kinds[argument++];
    if (kind == kDropped) continue;
    where +=
        (where.empty() ? "" : " AND ") + Condition(column->raw, word.substr(op), "?" + std::to_string(argument), kind);
    one_run = one_run || (IsRun(table, *column) && word[op] == '=' && kind == kAsItIs);
  }
  const std::string visible = offered.module->VisibleOnly(table, one_run, !order.empty());
  if (!visible.empty()) where += (where.empty() ? "" : " AND ") + visible;

  std::string columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool unused = table.columns[i].raw == nullptr && (computed >> i & 1) == 0;
    columns += std::string(i == 0 ? "" : ", ") + (unused ? "NULL" : table.columns[i].value);
  }
  return "SELECT " + columns + " FROM " + table.from + (where.empty() ? "" : " WHERE " + where) + order;
}

int OpenCursor(sqlite3_vtab*, sqlite3_vtab_cursor** out) noexcept {
  auto* cursor = new (std::nothrow) Cursor();
  if (cursor == nullptr) return SQLITE_NOMEM;
  *out = &cursor->base;
  return SQLITE_OK;
}

int CloseCursor(sqlite3_vtab_cursor* cursor) noexcept {
  delete &Of(cursor);
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* base) noexcept {
  Cursor& cursor = Of(base);
  const int result = sqlite3_step(cursor.rows.get());
  cursor.at_end = result != SQLITE_ROW;
  if (result == SQLITE_ROW) return SQLITE_OK;
  if (result != SQLITE_DONE) OfferedBy(base->pVtab).module->Keep(result);
  sqlite3_reset(cursor.rows.get());
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

constexpr size_t kLongestList = 1 << 20;

// The values of an IN as a JSON array; nothing when it is better not to look for them: numbers would each stand for
// several texts.
std::optional<std::string> ListOf(sqlite3_value* in) {
  std::string list = "[";
  sqlite3_value* value = nullptr;
  int result = sqlite3_vtab_in_first(in, &value);
  for (; result == SQLITE_OK; result = sqlite3_vtab_in_next(in, &value)) {
    const int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL || type == SQLITE_BLOB) continue;  // no text equals them
    if (type != SQLITE_TEXT || list.size() > kLongestList) return std::nullopt;
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
    if (bytes == nullptr) return std::nullopt;
    const std::string_view text(bytes, static_cast<size_t>(sqlite3_value_bytes(value)));
    if (!IsUtf8(text)) return std::nullopt;
    list += list.size() > 1 ? ",\"" : "\"";
    for (char c : text) {
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
      list += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    list += '"';
  }
  if (result != SQLITE_DONE) return std::nullopt;
  return list + "]";
}

// What Filter was given for the words of its plan.
struct Arguments {
  std::string kinds;
  std::vector<std::string> lists;  // where it is an IN
};

Arguments Look(std::string_view plan, std::span<sqlite3_value*> values) {
  Arguments arguments;
  arguments.lists.resize(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string_view word = plan.substr(0, plan.find(' '));
    plan.remove_prefix(std::min(plan.size(), word.size() + 1));
    Kind kind = kAsItIs;
    if (word.ends_with("=any")) {
      std::optional<std::string> list = ListOf(values[i]);
      if (!list.has_value()) kind = kDropped;
      arguments.lists[i] = std::move(list).value_or("");
    } else if (word.ends_with("=?")) {
      const int type = sqlite3_value_type(values[i]);
      if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) kind = kNumber;
    }
    arguments.kinds.push_back(kind);
  }
  return arguments;
}

int Bind(sqlite3_stmt* rows, const Arguments& arguments, std::span<sqlite3_value*> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (arguments.kinds[i] == kDropped) continue;
    const std::string& list = arguments.lists[i];
    const int at = static_cast<int>(i) + 1;
    const int result = list.empty()
                           ? sqlite3_bind_value(rows, at, values[i])
                           : sqlite3_bind_text64(rows, at, list.data(), list.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    if (result != SQLITE_OK) return result;
  }
  return SQLITE_OK;
}

int Filter(sqlite3_vtab_cursor* base, int computed, const char* plan, int count, sqlite3_value** given) noexcept {
  Cursor& cursor = Of(base);
  const Offered& offered = OfferedBy(base->pVtab);
  cursor.at_end = true;
  const std::span values(given, static_cast<size_t>(count));
  const Arguments arguments = Look(plan, values);
  if (cursor.rows == nullptr || cursor.plan != plan || cursor.kinds != arguments.kinds || cursor.computed != computed) {
    const std::string sql = RowsSql(offered, plan, arguments.kinds, computed);
    sqlite3_stmt* rows = nullptr;
    const int result = sqlite3_prepare_v3(offered.module->catalog(), sql.data(), static_cast<int>(sql.size()),
                                          SQLITE_PREPARE_PERSISTENT, &rows, nullptr);
    if (result != SQLITE_OK) return offered.module->Keep(result);
    cursor.rows.reset(rows);
    cursor.plan = plan;
    cursor.kinds = arguments.kinds;
    cursor.computed = computed;
  }
  sqlite3_reset(cursor.rows.get());
  const int result = Bind(cursor.rows.get(), arguments, values);
  if (result != SQLITE_OK) return offered.module->Keep(result);
  return Next(base);
}

int AtEnd(sqlite3_vtab_cursor* cursor) noexcept {
  return Of(cursor).at_end ? 1 : 0;
}

int Column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) noexcept {
  sqlite3_result_value(context, sqlite3_column_value(Of(cursor).rows.get(), column));
  return SQLITE_OK;
}

int RowId(sqlite3_vtab_cursor*, sqlite3_int64*) noexcept {
  return SQLITE_ERROR;
}  // tables without one are not asked

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

template <std::string (*kText)(std::string_view)>
void TextFunction(sqlite3_context* context, int, sqlite3_value** args) noexcept {
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(args[0]));
  const auto size = static_cast<size_t>(sqlite3_value_bytes(args[0]));
  const std::string text = kText(bytes == nullptr ? std::string_view() : std::string_view(bytes, size));
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

int RegisterTextFunctions(sqlite3* catalog) {
  const int result = sqlite3_create_function(catalog, "command_text", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                             TextFunction<CommandText>, nullptr, nullptr);
  if (result != SQLITE_OK) return result;
  return sqlite3_create_function(catalog, "readable_text", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                                 TextFunction<ReadableText>, nullptr, nullptr);
}

}  // namespace

CatalogModule::CatalogModule(Db& catalog, const Viewer& viewer) : catalog_(catalog), viewer_(viewer) {
  for (const CatalogTable& table : CatalogTables()) offered_.push_back({this, &table});
}

Status CatalogModule::Offer(sqlite3* user, const SqlWords& words, const GuestTables* guests) {
  const int result = RegisterTextFunctions(catalog_.handle());
  if (result != SQLITE_OK) return FailSqlite(catalog_.handle(), result, "register functions");
  for (Offered& offered : offered_) {
    const char* name = offered.table->name;
    if (!words.Has(name) || FindGuestTable(guests, name) != nullptr) continue;
    const int offer = sqlite3_create_module_v2(user, name, &kModule, &offered, nullptr);
    if (offer != SQLITE_OK) return FailSqlite(user, offer, std::string("offer table ") + name);
  }
  return OkStatus();
}

std::string CatalogModule::VisibleOnly(const CatalogTable& table, bool one_run, bool in_order) const {
  if (table.is_audit) return viewer_.sees_audit ? "" : "0";
  if (viewer_.sees_all) return "";
  const std::string uid = std::to_string(viewer_.uid);
  // In order: from the newest on, stopping when the reader does, rather than collecting all and sorting them.
  const std::string plus = in_order ? "+" : "";
  if (table.owner != nullptr) return plus + table.owner + " = " + uid;
  if (table.rows_per_run == 1) {  // the table run itself
    return "(" + plus + "r.uid = " + uid + " OR " + plus + "r.shared = 1)";
  }
  // Looking up the one run, many times in a join, or first listing all that are visible, from two indexes.
  if (one_run) {
    return std::string("EXISTS (SELECT 1 FROM runs AS o WHERE o.id = ") + table.run + " AND (+o.uid = " + uid +
           " OR +o.shared = 1))";
  }
  return std::string(table.run) + " IN (SELECT id FROM runs WHERE uid = " + uid +
         " UNION ALL SELECT id FROM runs WHERE shared = 1)";
}

int CatalogModule::Keep(int result) noexcept {
  if (status_.ok()) status_ = FailSqlite(catalog_.handle(), result, "read the catalog");
  return result;
}

}  // namespace kprof
