// What the configuration file says of devices: how they are found, [devices], and of an accelerator, a [[device]]. Two
// of these that stand for the same hardware are a complaint: they would be leased to two at a time.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/toml_table.h"
#include "daemon/devices/device_book.h"

namespace kprof {

// What the configuration says of devices beside which there are ([[device]]): how they are found, and what is known of
// them. A value.
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

void ReadDevices(const toml::table& table, ConfigErrors& complaints, DevicePolicy& devices);

// What the environment names and the file does not: docs/configuration.md has the list.
void TakeDeviceVariables(DevicePolicy& devices);

// Adds it to those that the tables before it gave, whose number of its kind is its own where it has no uuid.
void ReadDevice(const toml::table& table, ConfigErrors& complaints, std::vector<Device>& accelerators);

}  // namespace kprof
