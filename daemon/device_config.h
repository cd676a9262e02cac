// What the configuration file says of an accelerator: a [[device]]. Two that stand for the same hardware are a
// complaint: they would be leased to two at a time.
#pragma once

#include <vector>

#include "daemon/devices/device_list.h"
#include "daemon/toml_table.h"

namespace kprof {

// Adds it to those that the tables before it gave, whose number of its kind is its own where it has no uuid.
void ReadDevice(const toml::table& table, Complaints& complaints, std::vector<Device>& accelerators);

}  // namespace kprof
