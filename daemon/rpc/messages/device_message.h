// What is known of a device, as a message. Pure functions of their arguments; any thread.
#pragma once

#include "daemon/devices/device_facts.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// Whether it is well.
void FillDeviceHealth(const DeviceFacts& facts, v1::Device& out);

// What it tells of itself.
void FillDeviceFacts(const DeviceFacts& facts, v1::Device& out);

}  // namespace kprof
