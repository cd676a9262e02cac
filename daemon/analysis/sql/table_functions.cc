#include "daemon/analysis/sql/table_functions.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/sql/slice_choice.h"
#include "daemon/analysis/sql/trace_function.h"
#include "storage/trace_sql/scan/scan_conditions.h"
#include "storage/trace_sql/scan/scan_plan.h"

namespace kprof {
namespace {

// Plans a call of a function: which of its arguments and conditions it is handed. The plan is text, so that EXPLAIN
// QUERY PLAN shows it, in the words of scan_plan.h: "by= category= ts_ns>=", and behind them, with a plus sign, the
// costly columns that are read.
//
// A condition on a text that ignores case has "nocase:" before it. SQLite adds ranges of its own to GLOB and LIKE,
// which are taken too, or it would try the pattern again.
//
// Conditions on the fields of slices say what a call is about, so they are met when its rows are there: SQLite does not
// try them again, and cannot; but for those that leave out, on fields that the rows have.
//
// Returns a code of SQLite's: SQLITE_CONSTRAINT when another order of tables must be found.
int PlanCall(const TraceFunction& function, int64_t slices, sqlite3_index_info* info, std::string& plan);

struct CallCondition {
  ScanCondition test;  // its column is one of the function's
  bool ignores_case = false;

  bool operator==(const CallCondition&) const = default;
};
struct ReadCall {
  std::vector<CallCondition> conditions;  // without values
  uint64_t costly = 0;                    // as FunctionCall has it
};
ReadCall ReadCallPlan(const TraceFunction& function, std::string_view plan);

constexpr double kCostOfSlice = 0.02;
constexpr double kRows = 200;
constexpr const char* kNoCase = "nocase:";
constexpr int kLastUsedBit = 63;  // stands for all columns from there on

// Not IS NOT NULL: SQLite with STAT4 tries that again on the rows, whatever is said of it here.
std::optional<ScanOp> OpOf(int op) {
  switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
      return ScanOp::kEqual;
    case SQLITE_INDEX_CONSTRAINT_GT:
      return ScanOp::kMore;
    case SQLITE_INDEX_CONSTRAINT_GE:
      return ScanOp::kAtLeast;
    case SQLITE_INDEX_CONSTRAINT_LT:
      return ScanOp::kLess;
    case SQLITE_INDEX_CONSTRAINT_LE:
      return ScanOp::kAtMost;
    case SQLITE_INDEX_CONSTRAINT_GLOB:
      return ScanOp::kGlob;
    case SQLITE_INDEX_CONSTRAINT_LIKE:
      return ScanOp::kLike;
    case SQLITE_INDEX_CONSTRAINT_NE:
      return ScanOp::kNotEqual;
    case SQLITE_INDEX_CONSTRAINT_IS:
      return ScanOp::kIs;
    case SQLITE_INDEX_CONSTRAINT_ISNOT:
      return ScanOp::kIsNot;
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
      return ScanOp::kNull;
    default:
      return std::nullopt;
  }
}

bool LeavesOut(ScanOp op) {
  return op == ScanOp::kNotEqual || op == ScanOp::kIsNot;
}

// A stretch of time has one begin and one end. Of times a stretch is asked for, which leaving one out is not.
bool IsTaken(SliceField field, ScanOp op) {
  if (field == SliceField::kFromNs || field == SliceField::kToNs) return op == ScanOp::kEqual;
  if (field == SliceField::kTimeNs && LeavesOut(op)) return false;
  return IsText(field) || (op != ScanOp::kGlob && op != ScanOp::kLike);
}

// Those that are written into the query.
std::vector<std::optional<ScanCell>> WrittenArguments(const TraceFunction& function, sqlite3_index_info* info) {
  std::vector<std::optional<ScanCell>> arguments(function.arguments + 1);
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.iColumn < 0 || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    const FunctionColumn& column = function.columns[static_cast<size_t>(constraint.iColumn)];
    sqlite3_value* value = nullptr;
    if (column.use != FunctionColumn::Use::kArgument || sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK) continue;
    if (sqlite3_value_type(value) != SQLITE_TEXT) continue;
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    if (text != nullptr) arguments[static_cast<size_t>(column.which)] = ScanCell(std::string(text));
  }
  return arguments;
}

int PlanCall(const TraceFunction& function, int64_t slices, sqlite3_index_info* info, std::string& plan) {
  const std::vector<std::optional<ScanCell>> arguments = WrittenArguments(function, info);
  int handed = 0;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    std::optional<ScanOp> op = OpOf(constraint.op);
    bool ignores_case = false;
    if (constraint.iColumn < 0 || !op) continue;
    const FunctionColumn& column = function.columns[static_cast<size_t>(constraint.iColumn)];
    if (column.use == FunctionColumn::Use::kAnswer) continue;
    if (column.use == FunctionColumn::Use::kArgument) {
      if (op != ScanOp::kEqual) continue;
      if (constraint.usable == 0) return SQLITE_CONSTRAINT;
    } else {
      const auto field = static_cast<SliceField>(column.which);
      if (!IsTaken(field, *op)) continue;
      const char* collation = sqlite3_vtab_collation(info, i);
      ignores_case = IsText(field) && std::strcmp(collation, "NOCASE") == 0;
      if (IsText(field) && !ignores_case && std::strcmp(collation, "BINARY") != 0) continue;
      if (constraint.usable == 0) {
        if (function.has_field(arguments, field)) continue;
        return SQLITE_CONSTRAINT;
      }
      const bool is_list = *op == ScanOp::kEqual && sqlite3_vtab_in(info, i, -1) != 0;
      // Of times a stretch is asked for, not here and there: that SQLite would do by one call for each.
      const bool takes_list = field != SliceField::kTimeNs && field != SliceField::kDurationNs && IsTaken(field, *op);
      if (is_list && (!takes_list || ignores_case || field == SliceField::kFromNs || field == SliceField::kToNs))
        continue;
      if (is_list) {
        sqlite3_vtab_in(info, i, 1);
        op = ScanOp::kAny;
      }
    }
    info->aConstraintUsage[i].argvIndex = ++handed;
    // SQLite 3.40 does not say which collation `name <> 'X' COLLATE NOCASE` has: where it can, it compares again.
    const bool is_sure = !LeavesOut(*op) || column.use == FunctionColumn::Use::kArgument ||
                         !function.has_field(arguments, static_cast<SliceField>(column.which));
    info->aConstraintUsage[i].omit = is_sure ? 1 : 0;
    plan += std::string(plan.empty() ? "" : " ") + (ignores_case ? kNoCase : "") + column.name +
            std::string(ScanOpText(*op));
  }
  for (size_t i = 0; i < function.columns.size(); ++i) {
    const bool is_read = (info->colUsed >> std::min<size_t>(i, kLastUsedBit) & 1) != 0;
    if (!function.columns[i].is_costly || !is_read) continue;
    plan += (plan.empty() ? "+" : " +") + std::string(function.columns[i].name);
  }
  const double rows = std::max(kRows, static_cast<double>(slices) * function.rows_of_slice);
  info->estimatedRows = static_cast<sqlite3_int64>(rows);
  info->estimatedCost = rows + static_cast<double>(slices) * kCostOfSlice;
  return SQLITE_OK;
}

ReadCall ReadCallPlan(const TraceFunction& function, std::string_view plan) {
  const auto find = [&](std::string_view name) {
    for (size_t i = 0; i < function.columns.size(); ++i) {
      if (function.columns[i].name == name) return static_cast<int>(i);
    }
    KPROF_CHECK(false);
    return -1;
  };
  ReadCall read;
  while (!plan.empty()) {
    std::string_view word = plan.substr(0, plan.find(' '));
    plan.remove_prefix(std::min(plan.size(), word.size() + 1));
    if (word.front() == '+') {
      const int column = find(word.substr(1));
      read.costly |= uint64_t{1} << function.columns[static_cast<size_t>(column)].which;
      continue;
    }
    const bool ignores_case = word.starts_with(kNoCase);
    if (ignores_case) word.remove_prefix(std::string_view(kNoCase).size());
    const std::optional<ScanWord> condition = ReadScanWord(word);
    KPROF_CHECK(condition.has_value());
    read.conditions.push_back({{find(condition->column), condition->op, {}}, ignores_case});
  }
  return read;
}

// What a module of SQLite's is told; it goes with its connection.
struct Offered {
  const TraceFunction* function;
  TraceSet* set;
};

struct Table {
  sqlite3_vtab base;  // first: SQLite sees only this
  const Offered* offered;
};

// Memory of SQLite's that stands for ours, so that the query's limit holds for it.
struct FreeMemory {
  void operator()(void* memory) const { sqlite3_free(memory); }
};

struct Cursor {
  sqlite3_vtab_cursor base;  // first: SQLite sees only this
  std::string plan;          // what `read` was made of
  ReadCall read;
  std::vector<CallCondition> made_of;  // what `answer` was made of
  uint64_t made_costly = 0;
  std::unique_ptr<FunctionAnswer> answer;
  std::unique_ptr<void, FreeMemory> counted;
  size_t row = 0;
  bool is_first_window = true;
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

std::string Declaration(const TraceFunction& function) {
  std::string sql;
  for (const FunctionColumn& column : function.columns) {
    sql += std::string(sql.empty() ? "" : ", ") + "\"" + column.name + "\" " + column.type +
           (column.is_hidden ? " HIDDEN" : "");
  }
  return "CREATE TABLE x(" + sql + ")";
}

int Connect(sqlite3* db, void* client, int, const char* const*, sqlite3_vtab** out, char**) noexcept {
  const auto* offered = static_cast<const Offered*>(client);
  const int result = sqlite3_declare_vtab(db, Declaration(*offered->function).c_str());
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
  const int result = PlanCall(*offered.function, offered.set->rows(EventKind::kSlice), info, plan);
  if (result != SQLITE_OK || plan.empty()) return result;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  if (info->idxStr == nullptr) return SQLITE_NOMEM;
  info->needToFreeIdxStr = 1;
  return SQLITE_OK;
}

int OpenCursor(sqlite3_vtab*, sqlite3_vtab_cursor** out) noexcept {
  auto* cursor = new (std::nothrow) Cursor{};
  if (cursor == nullptr) return SQLITE_NOMEM;
  *out = &cursor->base;
  return SQLITE_OK;
}

int CloseCursor(sqlite3_vtab_cursor* cursor) noexcept {
  delete &Of(cursor);
  return SQLITE_OK;
}

Result<std::unique_ptr<FunctionAnswer>> Call(const Offered& offered, const ReadCall& read) {
  const TraceFunction& function = *offered.function;
  std::vector<std::optional<ScanCell>> arguments(function.arguments);
  std::vector<SliceCondition> fields;
  for (const auto& [condition, ignores_case] : read.conditions) {
    const FunctionColumn& column = function.columns[static_cast<size_t>(condition.column)];
    const auto at = static_cast<size_t>(column.which);
    if (column.use == FunctionColumn::Use::kField) {
      fields.push_back({static_cast<SliceField>(column.which), condition, ignores_case});
    } else if (at >= arguments.size()) {
      return FailCall(function.name, "it has more than " + std::to_string(arguments.size()) + " arguments",
                      "docs/sql.md says what they are");
    } else if (arguments[at]) {
      return FailCall(function.name, std::string("its argument ") + column.name + " is there twice", "give it once");
    } else {
      arguments[at] = condition.values.front();
    }
  }
  const StopSignal stop([&terms = offered.set->terms()] { return terms.MustEnd(); });
  ASSIGN_OR_RETURN(const SliceChoice slices, SliceChoice::Make(function.name, *offered.set, fields, stop));
  return function.call({function.name, *offered.set, arguments, slices, read.costly, stop});
}

Status CountMemory(Cursor& cursor) {
  cursor.counted.reset(sqlite3_malloc64(static_cast<sqlite3_uint64>(cursor.answer->size_bytes()) + 1));
  if (cursor.counted != nullptr) return OkStatus();
  cursor.answer.reset();
  return Fail(ErrorCode::kUsage, "hold an answer", "there is no memory for it");
}

int Filter(sqlite3_vtab_cursor* base, int, const char* given, int count, sqlite3_value** values) noexcept {
  Cursor& cursor = Of(base);
  const Offered& offered = OfferedBy(base->pVtab);
  const std::string_view plan = given == nullptr ? "" : given;
  if (cursor.plan != plan) {
    cursor.read = ReadCallPlan(*offered.function, plan);
    cursor.plan = plan;
  }
  KPROF_CHECK(cursor.read.conditions.size() == static_cast<size_t>(count));
  for (size_t i = 0; i < cursor.read.conditions.size(); ++i) {
    if (!FillValues(cursor.read.conditions[i].test, values[i])) return SQLITE_NOMEM;
  }
  cursor.row = 0;
  if (cursor.answer != nullptr && cursor.is_first_window && cursor.made_of == cursor.read.conditions &&
      cursor.made_costly == cursor.read.costly) {
    return SQLITE_OK;
  }
  cursor.answer.reset();
  cursor.counted.reset();
  cursor.is_first_window = true;
  auto answer = offered.set->terms().Aside([&] { return Call(offered, cursor.read); });
  if (!answer.ok()) return Told(base->pVtab, answer.status());
  cursor.answer = *std::move(answer);
  if (!CountMemory(cursor).ok()) return SQLITE_NOMEM;
  cursor.made_of = cursor.read.conditions;
  cursor.made_costly = cursor.read.costly;
  return SQLITE_OK;
}

int Next(sqlite3_vtab_cursor* base) noexcept {
  Cursor& cursor = Of(base);
  if (++cursor.row < cursor.answer->size()) return SQLITE_OK;
  const Result<bool> more = OfferedBy(base->pVtab).set->terms().Aside([&] { return cursor.answer->NextWindow(); });
  if (!more.ok()) {
    cursor.answer.reset();
    return Told(base->pVtab, more.status());
  }
  if (!*more) return SQLITE_OK;
  cursor.row = 0;
  cursor.is_first_window = false;
  return SQLITE_OK;
}

int AtEnd(sqlite3_vtab_cursor* base) noexcept {
  const Cursor& cursor = Of(base);
  return cursor.answer == nullptr || cursor.row >= cursor.answer->size() ? 1 : 0;
}

// What can be written in place of what no call is handed.
std::string RemedyFor(SliceField field, const std::string& column) {
  const bool has_key = WordsOf(field).key != nullptr;
  std::string remedy = has_key ? "make it a key, or compare it with " : "compare it with ";
  if (!IsText(field)) {
    return remedy + "numbers: =, <>, <, <=, >, >=, BETWEEN, IS NULL, joined by AND; for IS NOT NULL, >= 0";
  }
  remedy += "texts: =, <>, IN, GLOB, LIKE, IS NULL, joined by AND; for IS NOT NULL, GLOB '*'";
  if (!has_key) return remedy;
  const std::string sums = " IN (SELECT " + column + " FROM sum_by('" + WordsOf(field).key + "') WHERE " + column;
  return remedy + "; for NOT IN, <> with each; for NOT LIKE or NOT GLOB, " + column + sums + " NOT LIKE '...')";
}

int Column(sqlite3_vtab_cursor* base, sqlite3_context* context, int at) noexcept {
  const Cursor& cursor = Of(base);
  const TraceFunction& function = *OfferedBy(base->pVtab).function;
  const FunctionColumn& column = function.columns[static_cast<size_t>(at)];
  if (column.use == FunctionColumn::Use::kAnswer) {
    cursor.answer->Result(cursor.row, column.which, context);
    return SQLITE_OK;
  }
  const bool is_field = column.use == FunctionColumn::Use::kField;
  if (is_field && cursor.answer->FieldResult(cursor.row, static_cast<SliceField>(column.which), context)) {
    return SQLITE_OK;
  }
  if (!is_field) {
    // Asked for though nobody gave it a value: what was to be its value is a column of the call's own rows.
    const bool is_given =
        std::any_of(cursor.read.conditions.begin(), cursor.read.conditions.end(), [at](const CallCondition& condition) {
          return condition.test.column == at && condition.test.op == ScanOp::kEqual;
        });
    return Told(base->pVtab, FailCall(function.name, std::string(column.name) + " is an argument",
                                      is_given ? "write it within the brackets"
                                               : "write its value within the brackets; keys are texts: write 'name' in "
                                                 "single quotes"));
  }
  const auto field = static_cast<SliceField>(column.which);
  return Told(base->pVtab, FailCall(function.name, std::string(column.name) + " has no value in its rows",
                                    RemedyFor(field, column.name)));
}

// Rows have no numbers: SQLite would ask for them to try the parts of an OR one by one, and each part is a call of its
// own with rows of its own.
int RowId(sqlite3_vtab_cursor* base, sqlite3_int64*) noexcept {
  return Told(base->pVtab,
              FailCall(OfferedBy(base->pVtab).function->name, "its rows are not numbered, as OR would need",
                       "write IN, or two SELECTs with UNION ALL"));
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

}  // namespace

Status RegisterTraceFunctions(sqlite3* db, TraceSet& set, const TableChoice& choice) {
  for (const TraceFunction& function : TraceFunctions()) {
    if (choice.is_wanted && !choice.is_wanted(function.name)) continue;
    auto* offered = new Offered{&function, &set};
    const int result = sqlite3_create_module_v2(db, function.name, &kModule, offered,
                                                [](void* client) { delete static_cast<Offered*>(client); });
    if (result == SQLITE_OK) continue;
    return Fail(ErrorCode::kInternal, std::string("offer the function ") + function.name, sqlite3_errmsg(db));
  }
  return OkStatus();
}

}  // namespace kprof
