#include "storage/sandbox/authorizer.h"

#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "storage/sandbox/allowed_functions.h"
#include "storage/sandbox/ascii_case.h"
#include "storage/sandbox/catalog_tables.h"

namespace kprof {
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
