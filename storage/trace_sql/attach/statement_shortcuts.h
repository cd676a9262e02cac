// Finds out which shortcuts a statement may take (TraceSet::Shortcuts), by the program that SQLite makes of it.
//
// SQLite tells a virtual table which columns are read, but not what becomes of their values, so a table cannot know
// that its rows are only counted. The program can be read: EXPLAIN lists its instructions, and loops over a table are
// short and always the same. A shortcut is allowed if each instruction of a loop is one that is known to do the same
// for one row that stands for several. A program that looks otherwise in any way takes none: the answer is then found
// row by row.
//
//     VFilter   category= group:name sum:4      the plan offers sums of column 4 (dur_ns)
//       VColumn, Compare, Jump, ...             another group than before? then that one is finished
//       VColumn, AggStep sum(1)                 any number of these, and AggStep count(0)
//       If, VColumn, Integer                    the group's own value, once
//     VNext
#pragma once

#include <sqlite3.h>

#include <string>

#include "storage/base/status.h"
#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Allows `set` the shortcuts that are right for `sql`; then prepare it. REQUIRES: the connection has the tables of
// `set`, and `sql` is its only statement: functions that sum up may be others from now on. Fails when memory runs out;
// allows nothing for SQL that does not parse.
Status AllowShortcuts(sqlite3* db, TraceSet& set, const std::string& sql);

}  // namespace kprof
