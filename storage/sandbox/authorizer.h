// What a user's statement may do: an allow-list, asked by SQLite while it prepares the statement. Reading the tables on
// offer and json_each and json_tree, calling the functions of authorizer.h, SELECT and recursion; nothing else.
// Keeps the first refusal in words. It is one of several fences; the connection it guards has nothing else to offer
// (catalog_module.h) and can open no file (temp_space.h).
//
// Also ends a preparation that takes too long, as SQLite's progress handler is not asked then.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/sandbox/guest_tables.h"
#include "storage/sandbox/work_budget.h"

struct sqlite3;

namespace kprof {

// The SQL functions that a user's query may call: those that only compute from their arguments. A list of what is
// allowed, so that a function which a later SQLite brings stays shut until somebody has looked at it. Left out with
// intent: whatever loads code or touches files (load_extension, fts3_tokenizer, edit, readfile, writefile), asks about
// the connection or the build (changes, sqlite_compileoption_get), writes the log (sqlite_log), belongs to full-text
// and r-tree tables, or takes quadratic time (json_patch).

// Upper and lower case are the same.
bool IsAllowedFunction(std::string_view name);

// SQLite's words about a user's SQL as a Status: where in the SQL it is, and what would be right instead (the tables
// there are, the columns of those the SQL mentions).

// REQUIRES: the connection's latest call failed, with a fault of the SQL.
// `guests` may be null.
Status SqlError(sqlite3* db, std::string_view sql, const GuestTables* guests);

class Authorizer {
 public:
  // `guests` may be null; both must outlive it.
  Authorizer(WorkBudget& budget, const GuestTables* guests) : budget_(budget), guests_(guests) {}
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  // Must outlive the connection.
  void Guard(sqlite3* db);

  // Ok while nothing was refused.
  const Status& refusal() const { return refusal_; }

 private:
  static int Ask(void* self, int action, const char* first, const char* second, const char* schema,
                 const char* source) noexcept;
  int Decide(int action, const char* first, const char* second);
  bool IsOffered(std::string_view table) const;
  bool IsAllowed(std::string_view function) const;
  int Refuse(std::string what);

  WorkBudget& budget_;
  const GuestTables* guests_;
  int64_t functions_ = 0;
  Status refusal_;
};

inline constexpr const char* kAllElse = "anything but reading the tables on offer";
// "query: <what> is not allowed; ..."
Status NotAllowed(std::string what, const GuestTables* guests);

}  // namespace kprof
