#include "storage/sandbox/authorizer.h"

#include <sqlite3.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "storage/base/readable_text.h"
#include "storage/sandbox/catalog_tables.h"

namespace kprof {
namespace {

// SQL's names in one case: SQLite folds the letters of ASCII and no others, whatever the locale.
inline std::string AsciiLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return lower;
}

constexpr std::string_view kAllowed[] = {
    // Operators that are functions inside; json's too.
    "->", "->>", "glob", "like",
    // Of one row.
    "abs", "char", "coalesce", "format", "hex", "ifnull", "iif", "instr", "length", "likelihood", "likely", "lower",
    "ltrim", "max", "min", "nullif", "printf", "quote", "random", "randomblob", "replace", "round", "rtrim", "sign",
    "soundex", "substr", "substring", "trim", "typeof", "unicode", "unlikely", "upper", "zeroblob",
    // Mathematics.
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "ceiling", "cos", "cosh", "degrees", "exp",
    "floor", "ln", "log", "log10", "log2", "mod", "pi", "pow", "power", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
    // Date and time.
    "current_date", "current_time", "current_timestamp", "date", "datetime", "julianday", "strftime", "time",
    "unixepoch",
    // Of many rows.
    "avg", "count", "group_concat", "json_group_array", "json_group_object", "sum", "total",
    // Of a window.
    "cume_dist", "dense_rank", "first_value", "lag", "last_value", "lead", "nth_value", "ntile", "percent_rank", "rank",
    "row_number",
    // JSON.
    "json", "json_array", "json_array_length", "json_extract", "json_insert", "json_object", "json_quote",
    "json_remove", "json_replace", "json_set", "json_type", "json_valid"};

}  // namespace

bool IsAllowedFunction(std::string_view name) {
  return std::find(std::begin(kAllowed), std::end(kAllowed), AsciiLower(name)) != std::end(kAllowed);
}

namespace {

// "line 2, column 7" of a byte; columns are bytes too, as most editors count ASCII.
std::string Place(std::string_view sql, size_t offset) {
  const std::string_view before = sql.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(offset - line_start + 1);
}

std::string ColumnsOfMentioned(std::string_view sql, const GuestTables* guests) {
  std::string text;
  const SqlWords words(sql);
  for (const CatalogTable& table : CatalogTables()) {
    if (FindGuestTable(guests, table.name) != nullptr || !words.Has(table.name)) continue;
    text += (text.empty() ? "" : "; ") + std::string(table.name) + " has " + CatalogColumnNames(table);
  }
  for (const GuestTable& table : guests != nullptr ? guests->tables() : std::span<const GuestTable>()) {
    if (!words.Has(table.name)) continue;
    text += (text.empty() ? "" : "; ") + std::string(table.name) + " has " + std::string(table.columns);
  }
  return text.empty() ? "the tables are " + OfferedTableNames(guests) + " (see docs/sql.md)" : text;
}

std::string Remedy(std::string_view why, std::string_view sql, const GuestTables* guests) {
  const std::string_view no_column = "no such column: ";
  if (why.starts_with(no_column)) {
    const std::string quoted = "\"" + std::string(why.substr(no_column.size())) + "\"";
    if (sql.find(quoted) != std::string_view::npos) return "text goes in single quotes, double quotes are for names";
    return ColumnsOfMentioned(sql, guests);
  }
  const std::string_view no_table = "no such table: ";
  if (why.starts_with(no_table)) {
    const std::string related = RelatedTableNames(guests, AsciiLower(why.substr(no_table.size())));
    if (!related.empty()) return "there are " + related + " (see docs/sql.md)";
    return "the tables are " + OfferedTableNames(guests) + " (see docs/sql.md)" +
           (guests == nullptr ? "; slice, track and the others of a trace come with the run: --run RUN" : "");
  }
  if (why.starts_with("no such function: ")) return "docs/sql.md lists the functions";
  return "";
}

}  // namespace

Status SqlError(sqlite3* db, std::string_view sql, const GuestTables* guests) {
  const std::string why = ReadableText(sqlite3_errmsg(db));
  const int offset = sqlite3_error_offset(db);
  const bool has_place = offset >= 0 && static_cast<size_t>(offset) <= sql.size();
  return Fail(ErrorCode::kUsage, "query", has_place ? why + " (" + Place(sql, static_cast<size_t>(offset)) + ")" : why,
              Remedy(why, sql, guests));
}

namespace {

// Between two jumps SQLite asks nobody whether to go on; this bounds how much a straight line can hold.
constexpr int64_t kMostFunctionCalls = 1000;

}  // namespace

Status NotAllowed(std::string what, const GuestTables* guests) {
  return Fail(ErrorCode::kNotPermitted, "query", std::move(what) + " is not allowed",
              "a query is one SELECT over the tables " + OfferedTableNames(guests) + " (see docs/sql.md)");
}

bool Authorizer::IsOffered(std::string_view table) const {
  if (table == "json_each" || table == "json_tree" || FindGuestTable(guests_, table) != nullptr) return true;
  const auto tables = CatalogTables();
  return std::any_of(tables.begin(), tables.end(), [&](const CatalogTable& offered) { return table == offered.name; });
}

bool Authorizer::IsAllowed(std::string_view function) const {
  if (IsAllowedFunction(function)) return true;
  if (guests_ == nullptr) return false;
  const auto functions = guests_->functions();
  return std::find(functions.begin(), functions.end(), AsciiLower(function)) != functions.end();
}

void Authorizer::Guard(sqlite3* db) {
  sqlite3_set_authorizer(db, Ask, this);
}

int Authorizer::Ask(void* self, int action, const char* first, const char* second, const char*, const char*) noexcept {
  return static_cast<Authorizer*>(self)->Decide(action, first, second);
}

int Authorizer::Decide(int action, const char* first, const char* second) {
  if (budget_.IsSpent()) return SQLITE_DENY;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_READ: {
      const std::string table = AsciiLower(first != nullptr ? first : "");
      if (IsOffered(table)) return SQLITE_OK;
      // Without a column: `SELECT count(*) FROM x`, where x may be a common table expression, of any name but SQLite's.
      const bool no_column = second == nullptr || *second == '\0';
      if (no_column && !table.starts_with("sqlite_") && !table.starts_with("pragma_")) return SQLITE_OK;
      return Refuse("reading " + table);
    }
    case SQLITE_FUNCTION: {
      const std::string function = second != nullptr ? second : "";
      if (!IsAllowed(function)) return Refuse("the function " + function);
      if (++functions_ <= kMostFunctionCalls) return SQLITE_OK;
      if (refusal_.ok()) {
        refusal_ = Fail(ErrorCode::kUsage, "query",
                        "it calls functions in more than " + std::to_string(kMostFunctionCalls) + " places",
                        "make it shorter");
      }
      return SQLITE_DENY;
    }
    default:
      return Refuse(kAllElse);
  }
}

int Authorizer::Refuse(std::string what) {
  if (refusal_.ok()) refusal_ = NotAllowed(std::move(what), guests_);
  return SQLITE_DENY;
}

}  // namespace kprof
