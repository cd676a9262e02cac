// What has befallen a Neuron device between two moments, as sentences for people. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/devices/neuron/neuron_device.h"

namespace kprof {

struct NeuronChange {
  enum class Kind { kProcesses, kMemoryError, kExecutionErrors, kUnhealthy };
  Kind kind = Kind::kProcesses;
  std::string text;
  uint64_t value = 0;  // of what is counted, how many there are now
  bool operator==(const NeuronChange&) const = default;
};

// Counts that have grown, processes that came or went, components that the driver calls unhealthy or well again. What
// is not told at one of both moments, or begins at 0 again, is no change.
std::vector<NeuronChange> ChangesOf(const NeuronDevice& before, const NeuronDevice& now);

}  // namespace kprof
