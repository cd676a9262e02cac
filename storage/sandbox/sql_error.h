// SQLite's words about a user's SQL as a Status: where in the SQL it is, and what would be right instead (the tables
// there are, the columns of those the SQL mentions).
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>

#include "storage/base/status.h"
#include "storage/sandbox/guest_tables.h"

namespace kprof {

// REQUIRES: the connection's latest call failed, with a fault of the SQL.
// `guests` may be null.
Status SqlError(sqlite3* db, std::string_view sql, const GuestTables* guests);

}  // namespace kprof
