// The common part of answers about device profiles of Neuron cores: the profiles and the window that are asked
// for, notes where there is none, and rows that begin with the profile's run and rank.
//
// One thread, that of the readers. Costs a reading of the profiles' counters.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_profile.h"

namespace kprof {

struct AskedProfiles {
  ProfileWindow window;
  std::optional<int64_t> core;
  std::vector<DeviceProfile> profiles;
};
// Takes the options kProfileScope. Fails as WindowOf and reading do.
Result<AskedProfiles> FindAskedProfiles(const AnalysisTraces& traces, const AnalysisOptions& options,
                                        AnalysisAnswer& answer, const StopSignal& stop);

// The last column of a table of device profiles.
inline constexpr AnalysisColumn kExecutionColumn{"execution", AnalysisType::kInteger, "",
                                                 "Its number, as in profile_exec_4.ntff; null: nobody says it"};

// Adds a row of a table whose first columns are run and rank, and whose last one is kExecutionColumn.
Status AddProfileRow(const DeviceProfile& profile, size_t table, std::vector<AnalysisValue> values,
                     AnalysisAnswer& answer);

// Null: not known, or no number.
AnalysisValue RealOrNull(std::optional<double> value);
// Null: empty.
AnalysisValue WordOrNull(const std::string& word);

}  // namespace kprof
