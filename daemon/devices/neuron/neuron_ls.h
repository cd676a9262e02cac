// The output of `neuron-ls` about a node's Neuron devices, as values. Pure; knows of no process: that is
// neuron_tools.h.
//
// Takes the array of `-j`, of all versions, with log lines before it; and an object that holds the same elements under
// any one key, as `--output-format json` of 2.34 may: its shape is published nowhere that we know. Unknown keys are
// ignored. Each fact is absent where it is not there, or of another kind than documented.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

struct NeuronProcess {
  int64_t pid = 0;                             // 0: not told
  std::string command;                         // as it is; its first 4 KiB
  std::optional<std::string> runtime_version;  // "2.30.51"
  bool operator==(const NeuronProcess&) const = default;
};

struct NeuronDeviceFacts {
  int index = 0;
  std::optional<std::string> bdf;           // "0000:00:1f.0", also without the domain
  std::optional<std::string> cpu_affinity;  // "48-95,144-191"
  std::optional<int64_t> numa_node;         // -1: none
  std::vector<int> connected_to;            // by index; in no order
  std::optional<int> nc_count;              // its logical cores, at the present LNC
  std::optional<int> lnc;                   // physical cores per logical one: Trn2 and later say it
  std::optional<int64_t> memory_bytes;
  std::vector<int> neuroncore_ids;  // of its logical cores
  std::vector<NeuronProcess> processes;
  std::optional<std::string> instance_type;  // "trn2.48xlarge"
  bool operator==(const NeuronDeviceFacts&) const = default;
};

struct NeuronInventory {
  std::vector<NeuronDeviceFacts> devices;  // by index, each once
  std::optional<std::string> instance_type;
  std::optional<std::string> instance_id;
  std::optional<int> lnc;
  bool operator==(const NeuronInventory&) const = default;
};

// An empty inventory where it says that it found no devices. Fails with kBadInput for a text that is not JSON or of
// another shape, and says at which byte of the JSON or which key; and beyond any node there is: 1,024 devices, 256
// cores of one.
Result<NeuronInventory> ParseNeuronLs(std::string_view text);

// The instance's type in the text that neuron-ls prints without an option, before its table ("instance-type:
// inf2.xlarge"); nothing where it is not there. The JSON of most versions does not have it.
std::optional<std::string> InstanceTypeInText(std::string_view text);

// True for the words of neuron-ls, in either of its outputs, where there is no device.
bool SaysNoNeuronDevices(std::string_view text);

}  // namespace kprof
