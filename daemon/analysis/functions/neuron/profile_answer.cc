#include "daemon/analysis/functions/neuron/profile_answer.h"

#include <cmath>
#include <iterator>
#include <utility>

namespace kprof {

Result<AskedProfiles> FindAskedProfiles(const AnalysisTraces& traces, const AnalysisOptions& options,
                                        AnalysisAnswer& answer, const StopSignal& stop) {
  RETURN_IF_ERROR(StillWanted(stop));
  AskedProfiles asked;
  ASSIGN_OR_RETURN(asked.window, WindowOf(options));
  asked.core = options.integer("core");
  ASSIGN_OR_RETURN(asked.profiles, FindDeviceProfiles(traces, stop));
  if (!asked.profiles.empty()) return asked;
  answer.AddNote(traces.parts().empty()
                     ? "the run has no trace, so no device profile either"
                     : "no device profile of Neuron: capture with neuron, or import what neuron-explorer view wrote "
                       "(--output-format parquet, json or summary-json)");
  return asked;
}

Status AddProfileRow(const DeviceProfile& profile, size_t table, std::vector<AnalysisValue> values,
                     AnalysisAnswer& answer) {
  AnalysisAnswer::Row row{profile.run, ValueOf(profile.rank)};
  row.insert(row.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
  row.push_back(ValueOf(profile.execution));
  return answer.AddRow(table, std::move(row));
}

AnalysisValue RealOrNull(std::optional<double> value) {
  return value && std::isfinite(*value) ? AnalysisValue(*value) : AnalysisValue();
}

AnalysisValue WordOrNull(const std::string& word) {
  return word.empty() ? AnalysisValue() : AnalysisValue(word);
}

}  // namespace kprof
