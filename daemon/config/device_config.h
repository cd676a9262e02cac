// Reads what the configuration file says of devices: [devices], how they are found, and a [[device]] for each
// accelerator. Two of these that stand for the same hardware are a complaint: they would be leased to two at a time.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/toml_table.h"
#include "daemon/devices/device_book.h"

namespace kprof {

// The configured way to find devices, and to learn about them. A value.
struct DevicePolicy {
  bool finds = true;         // looks for devices by itself
  std::string nvml_library;  // empty: the usual one
  std::string dcgm_library;  // empty: the usual ones
  std::string tool_path;     // folders, with a colon between them: vendors' tools are looked for there, then in PATH
  std::string neuron_tools;  // the only folder of neuron-ls and neuron-monitor, the first of the others; empty: the
                             // usual places
  std::string neuron_sysfs;  // the Neuron driver's tree; empty: the usual one
  std::string neuron_chip;   // Trainium2, or a type of instance, trn2.48xlarge; empty: the node tells
  std::string peaks_file;    // over the table that comes with kprofd; empty: none
  bool operator==(const DevicePolicy&) const = default;
};

// The folders of vendors' tools, with a colon between them: that of the Neuron tools, then tool_path.
std::string VendorToolFolders(const DevicePolicy& devices);

void ReadDevices(const toml::table& table, ConfigErrors& complaints, DevicePolicy& devices);

// Takes from the environment what the file leaves empty: docs/configuration.md has the list.
void TakeDeviceVariables(DevicePolicy& devices);

// Adds the device of this table to those of the tables before it. A device without a uuid has as its number its place
// among those of its kind.
void ReadDevice(const toml::table& table, ConfigErrors& complaints, std::vector<Device>& accelerators);

}  // namespace kprof
