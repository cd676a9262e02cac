// What the configuration says of devices beside which there are ([[device]]): how they are found, and what is known of
// them. A value.
#pragma once

#include <string>

namespace kprof {

struct DevicePolicy {
  bool finds = true;         // looks for devices by itself
  std::string nvml_library;  // empty: the usual one
  std::string dcgm_library;  // empty: the usual ones
  std::string tool_path;     // of folders, with a colon between them, where vendors' tools are looked for before PATH
  std::string neuron_tools;  // the folder of neuron-ls and neuron-monitor; empty: the usual places
  std::string neuron_sysfs;  // the Neuron driver's tree; empty: the usual one
  std::string peaks_file;    // over the table that comes with kprofd; empty: none
  bool operator==(const DevicePolicy&) const = default;
};

}  // namespace kprof
