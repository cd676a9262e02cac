// What the configuration file says of devices: how they are found, [devices], and of an accelerator, a [[device]]. Two
// of these that stand for the same hardware are a complaint: they would be leased to two at a time.
#pragma once

#include <vector>

#include "daemon/config/device_policy.h"
#include "daemon/config/toml_table.h"
#include "daemon/devices/device_list.h"

namespace kprof {

void ReadDevices(const toml::table& table, ConfigErrors& complaints, DevicePolicy& devices);

// What the environment names and the file does not: docs/configuration.md has the list.
void TakeDeviceVariables(DevicePolicy& devices);

// Adds it to those that the tables before it gave, whose number of its kind is its own where it has no uuid.
void ReadDevice(const toml::table& table, ConfigErrors& complaints, std::vector<Device>& accelerators);

}  // namespace kprof
