// The numbers that the bounds of a NeuronCore are made of (neuron_bounds.h), read from a device profile, for each of
// its physical cores; where it is a summary alone, from that. Says where each comes from, and what the profile lacks:
// an input that is not known stays unknown.
//
// One thread, that of the readers. Costs what ReadProfileWork does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/neuron_bounds.h"

namespace kprof {

struct CoreBounds {
  int64_t core = 0;
  bool is_of_summary = false;  // of the counters of a summary alone: of all cores
  int64_t begin_ns = 0;        // of the window
  int64_t end_ns = 0;
  BoundInputs inputs;
  std::map<std::string, std::string> basis;    // by bound
  std::map<std::string, std::string> unknown;  // by bound: why
  std::vector<std::string> notes;
  ProfileWork work;  // in the window
};

Result<std::vector<CoreBounds>> ReadBoundInputs(const AnalysisTraces& traces, const DeviceProfile& profile,
                                                const ProfileWindow& window, std::optional<int64_t> core,
                                                const StopSignal& stop);

}  // namespace kprof
