#include "storage/trace_sql/scan/scan_plan.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "storage/trace_sql/scan/scan_conditions.h"

namespace kprof {
namespace {

constexpr double kListedValues = 25;  // values of an IN, as SQLite guesses, too
constexpr double kAlike = 4;          // rows of one correlation, children of one slice
constexpr double kStartCost = 20;
constexpr double kRunsOfCatalog = 1000;  // of which a query's are some
constexpr double kSegmentCost = 2;       // of one that is asked for the rows of a track
constexpr double kSegmentRows = 65'536;
constexpr double kScanCost = 0.1;  // of a row looked at and passed over, where one that is handed out is 1
// Of each different value of a column that rows are brought together by there is something in memory. More of them are
// SQLite's to sort, which it does on the disk.
constexpr int64_t kMostGroups = 1 << 18;
constexpr int64_t kMostTopRows = 100'000;

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
    default:
      return std::nullopt;
  }
}

bool IsText(ColumnRole role) {
  return role == ColumnRole::kText || role == ColumnRole::kRun;
}

bool IsPushed(ColumnRole role, ScanOp op) {
  if (role == ColumnRole::kNone) return false;
  return IsText(role) ? !IsRange(op) : op != ScanOp::kGlob && op != ScanOp::kLike;
}

// What is known of the rows so far.
struct Estimate {
  double rows = 0;     // handed out
  double scanned = 0;  // looked at
  double start = kStartCost;
  bool is_one = false;

  void Narrow(double part) {
    rows *= part;
    scanned *= part;
  }
  void LookUp(double found) {
    rows = std::min(rows, found);
    scanned = std::min(scanned, found * 4);
  }
};

// As if each different value were as frequent.
void ApplyValues(int64_t values, ScanOp op, Estimate& estimate) {
  const double listed = op == ScanOp::kAny ? kListedValues : 1;
  estimate.rows *= std::min(1.0, listed / static_cast<double>(values));
}

// `is_joined`: what it is compared with is in another table.
void Apply(ColumnRole role, ScanOp op, bool is_joined, TraceSet& set, Estimate& estimate) {
  const double count = op == ScanOp::kAny ? kListedValues : 1;
  const bool is_equal = op == ScanOp::kEqual || op == ScanOp::kAny;
  const auto parts = static_cast<double>(std::max<size_t>(set.parts().size(), 1));
  switch (role) {
    case ColumnRole::kRun:
      return estimate.Narrow(std::min(1.0, count / std::max(is_joined ? kRunsOfCatalog : 2.0, parts)));
    case ColumnRole::kId:
      if (!is_equal) return estimate.Narrow(0.25);
      estimate.is_one = estimate.is_one || op == ScanOp::kEqual;
      return estimate.LookUp(count);
    case ColumnRole::kCorrelation:
    case ColumnRole::kParent:
      if (!is_equal) return static_cast<void>(estimate.rows *= 0.25);
      return estimate.LookUp(count * kAlike);
    case ColumnRole::kTrack: {
      double tracks = 0;
      for (const auto& part : set.parts()) tracks += static_cast<double>(part->facts().tracks().size());
      const double of_all = is_equal ? std::min(1.0, count / std::max(2.0, tracks)) : 0.25;
      estimate.start += estimate.scanned / kSegmentRows * kSegmentCost;
      estimate.rows *= of_all;
      estimate.scanned *= std::min(1.0, of_all * 2);
      return;
    }
    case ColumnRole::kTime:
      return estimate.Narrow(is_equal ? 0.001 * count : 0.25);
    case ColumnRole::kText:
      estimate.rows *= op == ScanOp::kEqual ? 0.05 : 0.2;
      return;
    default:
      estimate.rows *= is_equal ? 0.1 * count / (count + 1) : 0.3;
      return;
  }
}

bool HasBit(uint64_t bits, int column) {
  return column >= 0 && column < 63 && (bits >> column & 1) != 0;
}

// Columns of `bits` that are read, as a word of the plan.
std::string ColumnsWord(const char* word, uint64_t bits) {
  std::string plan = word;
  for (int i = 0; i < 63; ++i) {
    if (HasBit(bits, i)) plan += (plan.back() == ':' ? "" : ",") + std::to_string(i);
  }
  return plan;
}

// The shortcuts that may be taken with rows in that order.
std::string PlanShortcuts(const TraceTable& table, const TraceSet& set, std::string_view order,
                          const sqlite3_index_info* info) {
  std::string plan;
  const bool is_in_order = order.empty() || order.starts_with("group");
  if (set.shortcuts().sums && table.is_summed && is_in_order) plan += ColumnsWord(" sum:", table.sums & info->colUsed);
  const uint64_t objects = table.objects & info->colUsed;
  if (set.shortcuts().objects && objects != 0) plan += ColumnsWord(" object:", objects);
  return plan;
}

bool IsWritten(sqlite3_index_info* info, int constraint) {
  sqlite3_value* value = nullptr;
  return sqlite3_vtab_rhs_value(info, constraint, &value) == SQLITE_OK;
}

std::optional<int64_t> WrittenInteger(sqlite3_index_info* info, int constraint) {
  sqlite3_value* value = nullptr;
  if (sqlite3_vtab_rhs_value(info, constraint, &value) != SQLITE_OK) return std::nullopt;
  if (sqlite3_value_type(value) != SQLITE_INTEGER) return std::nullopt;
  return sqlite3_value_int64(value);
}

// Written into the query as what the column is, so that it is compared inside exactly as SQLite would.
bool IsExact(sqlite3_index_info* info, int constraint, ColumnRole role, ScanOp op) {
  if (op == ScanOp::kAny || op == ScanOp::kGlob || op == ScanOp::kLike) return false;
  sqlite3_value* value = nullptr;
  if (sqlite3_vtab_rhs_value(info, constraint, &value) != SQLITE_OK) return false;
  return sqlite3_value_type(value) == (IsText(role) ? SQLITE_TEXT : SQLITE_INTEGER);
}

// The number of rows that LIMIT and OFFSET leave to be read. Nothing: there is no limit, or it is not written as a
// number. SQLite tells of them where all else that is left to do is to hand out rows in their order.
std::optional<int64_t> LimitOf(sqlite3_index_info* info) {
  std::optional<int64_t> limit;
  int64_t offset = 0;
  for (int i = 0; i < info->nConstraint; ++i) {
    const int op = info->aConstraint[i].op;
    if (op != SQLITE_INDEX_CONSTRAINT_LIMIT && op != SQLITE_INDEX_CONSTRAINT_OFFSET) continue;
    const std::optional<int64_t> written = WrittenInteger(info, i);
    if (!written || *written < 0 || *written > kMostTopRows) return std::nullopt;
    if (op == SQLITE_INDEX_CONSTRAINT_LIMIT) {
      limit = *written;
    } else {
      offset = *written;
    }
  }
  if (!limit || *limit + offset > kMostTopRows) return std::nullopt;
  return *limit + offset;
}

// Whether rows can come in the order that is asked for; the word for it. `limit`: the number of rows that is enough.
std::string PlanOrder(const TraceTable& table, TraceSet& set, std::optional<int64_t> limit, sqlite3_index_info* info) {
  if (info->nOrderBy != 1 || info->aOrderBy[0].iColumn < 0) return {};
  if (limit && HasBit(table.sums, info->aOrderBy[0].iColumn)) {
    const auto& wanted = info->aOrderBy[0];
    info->orderByConsumed = 1;
    return std::string(wanted.desc != 0 ? "top-desc:" : "top:") +
           table.columns[static_cast<size_t>(wanted.iColumn)].name + ":" + std::to_string(*limit);
  }
  const auto& order = info->aOrderBy[0];
  const TraceColumn& column = table.columns[static_cast<size_t>(order.iColumn)];
  const int distinct = sqlite3_vtab_distinct(info);
  if (column.role == ColumnRole::kId && order.desc == 0) {
    info->orderByConsumed = 1;
    return {};
  }
  const bool can_group =
      column.role == ColumnRole::kText || column.role == ColumnRole::kTrack || column.role == ColumnRole::kRun;
  if (table.groups == nullptr || !can_group || table.groups(set, order.iColumn) > kMostGroups) return {};
  info->orderByConsumed = 1;
  // One row of each value will do only where nothing else of a row is looked at: by what is compared outside, too.
  // The number of a row is looked at without a bit in colUsed.
  const auto* const conditions = info->aConstraint;
  const bool looks_at_numbers =
      std::any_of(conditions, conditions + info->nConstraint, [](const auto& one) { return one.iColumn < 0; });
  const bool one_each = distinct == 2 && info->colUsed == sqlite3_uint64{1} << order.iColumn && !looks_at_numbers;
  std::string plan = one_each ? "distinct" : distinct == 1 || distinct == 2 ? "group" : "order";
  plan += std::string(order.desc != 0 ? "-desc:" : ":") + column.name;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_read = (info->colUsed >> i & 1) != 0 && static_cast<int>(i) != order.iColumn;
    if (is_read) plan += std::string(" +") + table.columns[i].name;
  }
  return plan;
}

}  // namespace

void PlanScan(const TraceTable& table, TraceSet& set, sqlite3_index_info* info, std::string& plan) {
  const int64_t all = table.rows(set, table);
  Estimate estimate{static_cast<double>(all), static_cast<double>(all)};
  IntegerFilter times;
  int arguments = 0;
  bool is_all_inside = true;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    std::optional<ScanOp> op = OpOf(constraint.op);
    const bool is_bound =
        constraint.op == SQLITE_INDEX_CONSTRAINT_LIMIT || constraint.op == SQLITE_INDEX_CONSTRAINT_OFFSET;
    if (is_bound) continue;
    const bool was_all_inside = std::exchange(is_all_inside, false);
    if (constraint.usable == 0 || constraint.iColumn < 0 || !op) continue;
    const TraceColumn& column = table.columns[static_cast<size_t>(constraint.iColumn)];
    if (!IsPushed(column.role, *op)) continue;
    if (IsText(column.role) && std::strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0 && *op == ScanOp::kEqual) {
      continue;
    }
    if (*op == ScanOp::kEqual && sqlite3_vtab_in(info, i, 1) != 0) op = ScanOp::kAny;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    const bool is_exact = IsExact(info, i, column.role, *op);
    info->aConstraintUsage[i].omit = is_exact ? 1 : 0;
    is_all_inside = was_all_inside && is_exact;
    plan += (plan.empty() ? "" : " ") + std::string(column.name) + std::string(ScanOpText(*op));
    const std::optional<int64_t> written =
        column.role == ColumnRole::kTime && table.rows_between != nullptr ? WrittenInteger(info, i) : std::nullopt;
    const bool is_equal = *op == ScanOp::kEqual || *op == ScanOp::kAny;
    const int64_t values = is_equal && table.values != nullptr ? table.values(set, constraint.iColumn) : 0;
    if (values > 0) {
      ApplyValues(values, *op, estimate);
    } else if (written) {
      times.Add({constraint.iColumn, *op, {*written}});
    } else {
      Apply(column.role, *op, *op == ScanOp::kEqual && !IsWritten(info, i), set, estimate);
    }
  }
  if (times.is_active() && all > 0) {
    const int64_t between = times.is_empty() ? 0 : table.rows_between(set, times.min(), times.max());
    estimate.Narrow(static_cast<double>(between) / static_cast<double>(all));
  }
  const std::optional<int64_t> limit = is_all_inside ? LimitOf(info) : std::nullopt;
  std::string order = PlanOrder(table, set, limit, info);
  order += PlanShortcuts(table, set, order, info);
  if (order.starts_with(' ')) order.erase(0, 1);
  if (!order.empty()) plan += (plan.empty() ? "" : " ") + order;
  if (order.starts_with("top")) estimate.rows = std::min(estimate.rows, static_cast<double>(*limit));
  if (estimate.is_one) info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
  info->estimatedRows = static_cast<sqlite3_int64>(std::max(1.0, estimate.rows));
  info->estimatedCost = estimate.start + estimate.rows + estimate.scanned * kScanCost;
}

ReadPlan ReadScanPlan(const TraceTable& table, std::string_view plan) {
  const auto find = [&](std::string_view name) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].name == name) return static_cast<int>(i);
    }
    KPROF_CHECK(false);
    return -1;
  };
  const auto columns = [](std::string_view text) {
    std::vector<int> numbers;
    for (int number = 0; !text.empty(); text.remove_prefix(text[0] == ',' ? 1 : 0)) {
      text.remove_prefix(
          static_cast<size_t>(std::from_chars(text.data(), text.data() + text.size(), number).ptr - text.data()));
      numbers.push_back(number);
    }
    return numbers;
  };
  ReadPlan read;
  while (!plan.empty()) {
    const std::string_view word = plan.substr(0, plan.find(' '));
    plan.remove_prefix(std::min(plan.size(), word.size() + 1));
    const std::optional<ScanWord> condition = ReadScanWord(word);
    if (condition) {
      read.conditions.push_back({find(condition->column), condition->op, {}});
    } else if (word.starts_with('+')) {
      read.order.read.push_back(find(word.substr(1)));
    } else if (word.starts_with("sum:")) {  // no condition: of one a known operator follows
      read.order.is_summed = true;
      read.order.sums = columns(word.substr(4));
    } else if (word.starts_with("object:")) {
      read.order.objects = columns(word.substr(7));
    } else if (word.starts_with("top")) {
      const size_t begin = word.find(':') + 1;
      const size_t end = word.find(':', begin);
      read.order.top_of = find(word.substr(begin, end - begin));
      read.order.is_descending = word.starts_with("top-desc:");
      std::from_chars(word.data() + end + 1, word.data() + word.size(), read.order.top_rows);
    } else {
      read.order.grouped_by = find(word.substr(word.find(':') + 1));
      read.order.one_each = word.starts_with("distinct");
      read.order.is_descending = word.find("-desc:") != std::string_view::npos;
    }
  }
  return read;
}

namespace {

std::optional<ScanCell> CellOf(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
      return ScanCell();
    case SQLITE_INTEGER:
      return ScanCell(int64_t{sqlite3_value_int64(value)});
    case SQLITE_FLOAT:
      return ScanCell(sqlite3_value_double(value));
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      if (text == nullptr) return std::nullopt;
      return ScanCell(std::string(text, static_cast<size_t>(sqlite3_value_bytes(value))));
    }
    default:
      return ScanCell(OtherCell());
  }
}

}  // namespace

bool FillValues(ScanCondition& condition, sqlite3_value* value) {
  condition.values.clear();
  if (condition.op != ScanOp::kAny) {
    std::optional<ScanCell> cell = CellOf(value);
    if (!cell) return false;
    condition.values.push_back(*std::move(cell));
    return true;
  }
  sqlite3_value* listed = nullptr;
  int result = sqlite3_vtab_in_first(value, &listed);
  for (; result == SQLITE_OK; result = sqlite3_vtab_in_next(value, &listed)) {
    std::optional<ScanCell> cell = CellOf(listed);
    if (!cell) return false;
    condition.values.push_back(*std::move(cell));
  }
  return result == SQLITE_DONE;
}

}  // namespace kprof
