#include "storage/trace_sql/attach/statement_shortcuts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/sandbox/sql_words.h"
#include "storage/trace_sql/tables/sum_functions.h"

namespace kprof {
namespace {

// An instruction of SQLite's machine (sqlite.org/opcode.html).
struct Instruction {
  std::string name;
  int64_t p1 = 0;
  int64_t p2 = 0;
  int64_t p3 = 0;
  std::string p4;
  int64_t p5 = 0;
};
using Program = std::vector<Instruction>;

constexpr size_t kMostInstructions = 2'000;
constexpr int kKnownSqlite = 3040;  // 3.40, whose programs these are

std::string TextAt(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text == nullptr ? "" : text;
}

// Nothing for SQL that SQLite does not take, or that is no plain statement.
std::optional<Program> ReadProgram(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* listing = nullptr;
  const std::string explain = "EXPLAIN " + sql;
  const bool is_prepared = sqlite3_prepare_v2(db, explain.c_str(), -1, &listing, nullptr) == SQLITE_OK &&
                           listing != nullptr && sqlite3_stmt_isexplain(listing) == 1;
  Program program;
  int result = is_prepared ? SQLITE_ROW : SQLITE_ERROR;
  while (result == SQLITE_ROW && (result = sqlite3_step(listing)) == SQLITE_ROW && program.size() < kMostInstructions) {
    program.push_back({TextAt(listing, 1), sqlite3_column_int64(listing, 2), sqlite3_column_int64(listing, 3),
                       sqlite3_column_int64(listing, 4), TextAt(listing, 5), sqlite3_column_int64(listing, 6)});
  }
  sqlite3_finalize(listing);
  if (result != SQLITE_DONE) return std::nullopt;
  return program;
}

// The columns of a plan's word; nothing when the plan has no such word.
std::optional<std::vector<int64_t>> ColumnsOfPlan(std::string_view plan, std::string_view name) {
  while (!plan.empty()) {
    std::string_view word = plan.substr(0, plan.find(' '));
    plan.remove_prefix(std::min(plan.size(), word.size() + 1));
    if (!word.starts_with(name)) continue;
    word.remove_prefix(name.size());
    if (word.find_first_not_of("0123456789,") != std::string_view::npos) continue;
    std::vector<int64_t> columns;
    for (int64_t column = 0; !word.empty(); word.remove_prefix(word[0] == ',' ? 1 : 0)) {
      const char* end = std::from_chars(word.data(), word.data() + word.size(), column).ptr;
      word.remove_prefix(static_cast<size_t>(end - word.data()));
      columns.push_back(column);
      if (!word.empty() && word[0] != ',') return std::nullopt;
    }
    return columns;
  }
  return std::nullopt;
}

bool Has(const std::vector<int64_t>& columns, int64_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

// Follows one loop over a table whose rows may come summed up.
class SummedLoop {
 public:
  SummedLoop(const Program& program, size_t filter, std::vector<int64_t> sums)
      : program_(program), filter_(filter), cursor_(program[filter].p1), sums_(std::move(sums)), at_(filter + 1) {}

  // True if it does nothing but count and sum up. Adds its steps to `steps`.
  bool IsPlain(std::vector<size_t>& steps) {
    const std::string_view plan = program_[filter_].p4;
    is_grouped_ = plan.starts_with("group") || plan.find(" group") != std::string_view::npos;
    if (is_grouped_ && !PassHead()) return false;
    while (PassStep(steps)) {
    }
    if (is_grouped_) PassTail();
    return Is("VNext") && Now().p1 == cursor_ && Now().p2 == static_cast<int64_t>(filter_ + 1) &&
           program_[filter_].p2 == static_cast<int64_t>(at_ + 1);
  }
  bool is_grouped() const { return is_grouped_; }

 private:
  bool Is(std::string_view name, size_t ahead = 0) const {
    return at_ + ahead < program_.size() && program_[at_ + ahead].name == name;
  }
  const Instruction& Now(size_t ahead = 0) const { return program_[at_ + ahead]; }

  // Is the group another one? Then the one before is finished, as it is also for a row that stands for several.
  bool PassHead() {
    const bool is_head = Is("VColumn") && Is("Compare", 1) && Is("Jump", 2) && Is("Move", 3) && Is("Gosub", 4) &&
                         Is("IfPos", 5) && Is("Gosub", 6);
    if (!is_head) return false;
    const auto same = static_cast<int64_t>(at_ + 7);
    const auto other = static_cast<int64_t>(at_ + 3);
    group_ = Now().p2;
    const bool is_right = Now().p1 == cursor_ && Now(1).p2 == Now().p3 && Now(1).p3 == 1 && Now(2).p1 == other &&
                          Now(2).p2 == same && Now(2).p3 == other;
    at_ += 7;
    return is_right;
  }
  // A call of an aggregate function, with its argument before it.
  bool PassStep(std::vector<size_t>& steps) {
    const bool has_value = Is("VColumn");
    const bool has_number = Is("Integer");
    const int64_t value_at = has_value ? Now().p3 : has_number ? Now().p2 : -1;
    if (has_value && !(Now().p1 == cursor_ && Has(sums_, Now().p2))) return false;
    size_t call = has_value || has_number ? 1 : 0;
    if (Is("CollSeq", call)) ++call;
    if (!Is("AggStep", call) || Now(call).p1 != 0) return false;
    const Instruction& step = Now(call);
    const bool is_known = has_value ? step.p4 == "count(1)" || step.p4 == "sum(1)" || step.p4 == "total(1)" ||
                                          step.p4 == "avg(1)" || step.p4 == "min(1)" || step.p4 == "max(1)"
                          : has_number ? step.p4 == "count(1)"
                                       : step.p4 == "count(0)";
    const bool takes_it = value_at < 0 ? step.p5 == 0 : step.p5 == 1 && step.p2 == value_at;
    if (!is_known || !takes_it) return false;
    steps.push_back(at_ + call);
    at_ += call + 1;
    return true;
  }
  // The group's value, kept once.
  void PassTail() {
    if (Is("Integer") && Now().p1 == 1 && Is("VNext", 1)) {  // the group's own value is not asked for
      ++at_;
      return;
    }
    const bool is_tail = Is("If") && Is("VColumn", 1) && Is("Integer", 2) && Is("VNext", 3);
    if (!is_tail) return;
    const bool is_right =
        Now().p2 == static_cast<int64_t>(at_ + 2) && Now(1).p1 == cursor_ && Now(1).p2 == group_ && Now(2).p1 == 1;
    if (is_right) at_ += 3;
  }

  const Program& program_;
  const size_t filter_;
  const int64_t cursor_;
  const std::vector<int64_t> sums_;
  size_t at_;
  bool is_grouped_ = false;
  int64_t group_ = -1;
};

// True if there are loops whose rows may come summed up, and all that the statement counts and sums up is in such
// loops. The functions are the same everywhere, and know only of the row that a scan has set last. Between two rows of
// a grouped loop other loops may run, so there is none beside it.
bool AreSumsPlain(const Program& program) {
  std::vector<size_t> steps;
  size_t loops = 0;
  bool is_grouped = false;
  for (size_t at = 0; at < program.size(); ++at) {
    if (program[at].name != "VFilter") continue;
    const auto sums = ColumnsOfPlan(program[at].p4, "sum:");
    if (!sums) continue;
    SummedLoop loop(program, at, *sums);
    if (!loop.IsPlain(steps)) return false;
    is_grouped = is_grouped || loop.is_grouped();
    ++loops;
  }
  if (loops == 0 || (is_grouped && loops > 1)) return false;
  const auto is_other = [&](size_t at) {
    const std::string_view name = program[at].name;
    const bool adds_up = name.starts_with("AggStep") || name == "AggInverse" || name == "AggValue" || name == "Count";
    return adds_up && std::find(steps.begin(), steps.end(), at) == steps.end();
  };
  for (size_t at = 0; at < program.size(); ++at) {
    if (is_other(at)) return false;
  }
  return true;
}

// True if there are loops whose objects of arguments may come without their text, and arg() alone reads them.
bool AreObjectsPlain(const Program& program) {
  bool has_objects = false;
  for (const Instruction& filter : program) {
    if (filter.name != "VFilter") continue;
    const auto objects = ColumnsOfPlan(filter.p4, "object:");
    if (!objects) continue;
    has_objects = true;
    for (size_t at = 0; at < program.size(); ++at) {
      const Instruction& read = program[at];
      if (read.name != "VColumn" || read.p1 != filter.p1 || !Has(*objects, read.p2)) continue;
      if (at + 1 == program.size()) return false;
      const Instruction& call = program[at + 1];
      if (call.name != "Function" || call.p4 != "arg(2)" || call.p2 != read.p3) return false;
    }
  }
  return has_objects;
}

bool HasSums(const SqlWords& words) {
  constexpr std::string_view kNames[] = {"count", "sum", "total", "avg", "min", "max"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view name) { return words.Has(name); });
}

}  // namespace

Status AllowShortcuts(sqlite3* db, TraceSet& set, const std::string& sql) {
  // Programs of another version may mean something else.
  if (sqlite3_libversion_number() / 1000 != kKnownSqlite) return OkStatus();
  const SqlWords words(sql);
  const TraceSet::Shortcuts wanted{.sums = HasSums(words), .objects = words.Has("arg")};
  if (wanted == TraceSet::Shortcuts()) return OkStatus();
  set.Allow(wanted);
  const std::optional<Program> program = ReadProgram(db, sql);
  TraceSet::Shortcuts allowed;
  if (program && wanted.sums) allowed.sums = AreSumsPlain(*program);
  if (program && wanted.objects) allowed.objects = AreObjectsPlain(*program);
  set.Allow(allowed);
  if (allowed.sums && RegisterSumFunctions(db, set) != SQLITE_OK) {
    return Fail(ErrorCode::kUsage, "query", "memory ran out", "make it shorter");
  }
  return OkStatus();
}

}  // namespace kprof
