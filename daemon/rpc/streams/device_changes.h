// What befell a device between two looks at it: its lease, and its clocks' lock. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/devices/node_devices.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// In their order. Both are the same device's, with its lease and its clocks.
std::vector<v1::DeviceEvent> ChangesBetween(const v1::Device& before, const v1::Device& now, int64_t now_unix_ns);

v1::DeviceEvent MessageOf(const DeviceEvent& event);

}  // namespace kprof
