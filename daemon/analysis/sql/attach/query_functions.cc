#include "daemon/analysis/sql/attach/query_functions.h"

#include <string_view>
#include <utility>

#include "daemon/analysis/sql/table_functions.h"
#include "daemon/analysis/sql/trace_function.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/known_runs.h"

namespace kprof {
namespace {

constexpr std::string_view kAnalyses = "analyze_";

}  // namespace

QueryFunctions::QueryFunctions() {
  for (const TraceFunction& function : TraceFunctions()) {
    std::string columns;
    for (const FunctionColumn& column : function.columns) {
      if (column.use == FunctionColumn::Use::kArgument) continue;
      columns += (columns.empty() ? "" : ", ") + std::string(column.name);
    }
    columns_.push_back(std::move(columns));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view name = TraceFunctions()[i].name;
    tables_.push_back({name, columns_[i], name.starts_with(kAnalyses) ? kAnalyses : std::string_view()});
  }
}

Status QueryFunctions::Offer(sqlite3* user, const SqlWords& words, TraceSet& set) const {
  if (set.catalog() != nullptr) {
    ASSIGN_OR_RETURN(KnownCeilings ceilings, ReadKnownCeilings(*set.catalog(), set.runs()));
    set.Keep(std::move(ceilings));
    ASSIGN_OR_RETURN(KnownRuns known_runs, ReadKnownRuns(*set.catalog(), set.runs()));
    set.Keep(std::move(known_runs));
  }
  return RegisterTraceFunctions(user, set, {.is_wanted = [&words](std::string_view name) { return words.Has(name); }});
}

}  // namespace kprof
