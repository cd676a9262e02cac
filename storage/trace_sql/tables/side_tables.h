// Side tables of parts (side_table.h) as tables of SQL: under their own names, with the columns `run` and `part` before
// their own. `metric` is always there, and also shows the metrics that the catalog keeps of the runs.
//
// Reading fails with kStorageBroken at a part whose table has a column of another type than in the parts before. A
// column that a part's table does not have is NULL.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/trace_sql/trace_tables.h"

namespace kprof {

// A table that the parts of a query bring along.
struct BroughtTable {
  std::string name;
  std::vector<std::string> names;  // of its columns
  std::vector<TraceColumn> columns;
  TraceTable table;
};

// One table for each name among the side tables of the set's parts. Leaves out `metric`, and names that `is_taken` says
// are another table's: those side tables are not shown.
std::vector<std::unique_ptr<BroughtTable>> BroughtTables(const TraceSet& set,
                                                         const std::function<bool(std::string_view)>& is_taken);

}  // namespace kprof
