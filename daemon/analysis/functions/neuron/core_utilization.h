// How much of its peaks a NeuronCore used: MFU, MBU and the like, by the profiler's own formulas
// (docs/analyses/engines.md). Pure; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/neuron/core_peaks.h"
#include "daemon/analysis/functions/neuron/device_profile.h"

namespace kprof {

struct CoreUtilization {
  const char* name = "";
  const char* unit = "";
  std::optional<double> value;  // nothing: a number or a peak is not known
  std::optional<double> told;   // by the profile's summary
  const char* definition = "";
};

// All cores of the work together, against so many peaks. Numbers that neither we nor the summary know are left out.
std::vector<CoreUtilization> UtilizationOf(const DeviceProfile& profile, const ProfileWork& work,
                                           const CorePeaks& peaks, const ProfileTotal& total,
                                           const ProfileWindow& window);

// Ours, else the summary's; nothing: neither.
std::optional<double> FindUtilization(const std::vector<CoreUtilization>& of, std::string_view name);

// A number of the rows added up over cores; of the whole execution without such rows the summary's.
std::optional<double> SummedOr(const DeviceProfile& profile, const ProfileWork& work, const ProfileWindow& window,
                               std::optional<int64_t> InstructionSums::*of, const char* counter);

}  // namespace kprof
