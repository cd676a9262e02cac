// The allow-list of a user's statement, which SQLite asks while it prepares the statement. Allowed are reading the
// tables on offer and json_each and json_tree, calling allowed functions (IsAllowedFunction, and those of guests),
// SELECT and recursion; nothing else. Keeps the first refusal in words. It is one of several fences: the connection
// that it guards has nothing else to offer (catalog_module.h) and can open no file (temp_space.h).
//
// Also ends a preparation that takes too long, as SQLite does not ask its progress handler then.
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

// True for a SQL function that a user's query may call: one that only computes from its arguments. Upper and lower case
// are the same. The list names the allowed functions, so a function of a later SQLite stays shut until somebody has
// looked at it. Left out with intent are functions that load code or touch files (load_extension, fts3_tokenizer, edit,
// readfile, writefile), ask about the connection or the build (changes, sqlite_compileoption_get), write the log
// (sqlite_log), belong to full-text and r-tree tables, or take quadratic time (json_patch).
bool IsAllowedFunction(std::string_view name);

// SQLite's words about a user's SQL as a Status, with the place in the SQL and a remedy: the tables on offer, or the
// columns of the tables that the SQL mentions. `guests` may be null.
// REQUIRES: the connection's latest call failed, with a fault of the SQL.
Status SqlError(sqlite3* db, std::string_view sql, const GuestTables* guests);

class Authorizer {
 public:
  // `guests` may be null; both must outlive it.
  Authorizer(WorkBudget& budget, const GuestTables* guests) : budget_(budget), guests_(guests) {}
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  // Must outlive the connection.
  void Guard(sqlite3* db);
  // The next statement may call as many functions as the first.
  void BeginStatement() { functions_ = 0; }

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
