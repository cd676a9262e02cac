#include "daemon/analysis/sql/trace_function.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/analysis/sql/analysis_functions.h"

namespace kprof {

std::vector<FunctionColumn> ColumnsOf(std::span<const SliceField> shown, std::span<const FunctionColumn> answers,
                                      std::span<const char* const> arguments) {
  using Use = FunctionColumn::Use;
  std::vector<FunctionColumn> columns;
  const auto add_field = [&](size_t field, bool is_hidden) {
    const SliceFieldWords& words = SliceFields()[field];
    columns.push_back({words.column, words.type, Use::kField, static_cast<int>(field), is_hidden, false});
  };
  for (const SliceField field : shown) add_field(static_cast<size_t>(field), false);
  columns.insert(columns.end(), answers.begin(), answers.end());
  for (size_t i = 0; i < arguments.size(); ++i) {
    columns.push_back({arguments[i], "", Use::kArgument, static_cast<int>(i), true, false});
  }
  columns.push_back({"too_many", "", Use::kArgument, static_cast<int>(arguments.size()), true, false});
  for (size_t i = 0; i < SliceFields().size(); ++i) {
    const bool is_shown = std::find(shown.begin(), shown.end(), static_cast<SliceField>(i)) != shown.end();
    if (!is_shown) add_field(i, true);
  }
  return columns;
}

std::span<const TraceFunction> TraceFunctions() {
  static const std::vector<TraceFunction> kFunctions = [] {
    std::vector<TraceFunction> all = {SumBy(),       SelfTimeBy(), BusyOf(),         GapsOf(),         OverlapOf(),
                                      HistogramOf(), TilesOf(),    InstantTilesOf(), CounterTilesOf(), CorrelatedOf()};
    std::vector<TraceFunction> analyses = AnalysisFunctions();
    std::move(analyses.begin(), analyses.end(), std::back_inserter(all));
    return all;
  }();
  return kFunctions;
}

}  // namespace kprof
