// What is known of a device at a moment, beside what it is leased as (device.h). A value.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/devices/device.h"
#include "daemon/devices/device_health.h"
#include "daemon/devices/neuron/neuron_device.h"
#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/status.h"

namespace kprof {

struct DeviceFacts {
  DeviceKind kind = DeviceKind::kCpu;
  DeviceHealth health = DeviceHealth::kOk;
  Status trouble;  // why it is not well
  // Each absent until it was read, and where the device is of another kind.
  std::optional<NvidiaIdentity> nvidia;
  std::optional<NvidiaState> nvidia_state;
  std::optional<NvidiaSample> nvidia_sample;
  std::optional<NeuronDevice> neuron;
};

}  // namespace kprof
