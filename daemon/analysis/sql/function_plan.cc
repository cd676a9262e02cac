#include "daemon/analysis/sql/function_plan.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace kprof {
namespace {

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

}  // namespace

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

}  // namespace kprof
