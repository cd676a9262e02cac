#include "daemon/analysis/sql/query_functions.h"

#include <string>
#include <utility>

#include "daemon/analysis/sql/table_functions.h"
#include "daemon/analysis/sql/trace_function.h"

namespace kprof {

QueryFunctions::QueryFunctions() {
  for (const TraceFunction& function : TraceFunctions()) {
    std::string columns;
    for (const FunctionColumn& column : function.columns) {
      if (column.use == FunctionColumn::Use::kArgument) continue;
      columns += (columns.empty() ? "" : ", ") + std::string(column.name);
    }
    tables_.push_back({function.name, std::move(columns)});
  }
}

Status QueryFunctions::Offer(sqlite3* user, TraceSet& set) const {
  return RegisterTraceFunctions(user, set);
}

}  // namespace kprof
