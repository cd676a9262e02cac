#include "storage/sandbox/sql_error.h"

#include <algorithm>
#include <cctype>

#include "storage/base/readable_text.h"
#include "storage/sandbox/catalog_tables.h"

namespace kprof {
namespace {

// "line 2, column 7" of a byte; columns are bytes too, as most editors count ASCII.
std::string Place(std::string_view sql, size_t offset) {
  const std::string_view before = sql.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(offset - line_start + 1);
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool Mentions(std::string_view sql, std::string_view name) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (auto at = sql.begin();; ++at) {
    at = std::search(at, sql.end(), name.begin(), name.end(), same);
    if (at == sql.end()) return false;
    const auto end = at + static_cast<std::ptrdiff_t>(name.size());
    if ((at == sql.begin() || !IsWordCharacter(at[-1])) && (end == sql.end() || !IsWordCharacter(*end))) return true;
  }
}

std::string ColumnsOfMentioned(std::string_view sql, const GuestTables* guests) {
  std::string text;
  for (const CatalogTable& table : CatalogTables()) {
    if (FindGuestTable(guests, table.name) != nullptr || !Mentions(sql, table.name)) continue;
    text += (text.empty() ? "" : "; ") + std::string(table.name) + " has " + CatalogColumnNames(table);
  }
  for (const GuestTable& table : guests != nullptr ? guests->tables() : std::span<const GuestTable>()) {
    if (Mentions(sql, table.name)) text += (text.empty() ? "" : "; ") + table.name + " has " + table.columns;
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
  if (why.starts_with("no such table: ")) {
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

}  // namespace kprof
