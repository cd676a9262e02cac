// The SQL functions that a user's query may call: those that only compute from their arguments. A list of what is
// allowed, so that a function which a later SQLite brings stays shut until somebody has looked at it. Left out with
// intent: whatever loads code or touches files (load_extension, fts3_tokenizer, edit, readfile, writefile), asks about
// the connection or the build (changes, sqlite_compileoption_get), writes the log (sqlite_log), belongs to full-text
// and r-tree tables, or takes quadratic time (json_patch).
#pragma once

#include <string_view>

namespace kprof {

// Upper and lower case are the same.
bool IsAllowedFunction(std::string_view name);

}  // namespace kprof
