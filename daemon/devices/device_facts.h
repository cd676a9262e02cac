// The facts of a device at a moment: its health, and what its driver and its tools tell. device_book.h has what it is
// leased as. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "daemon/devices/device_book.h"
#include "daemon/devices/neuron/neuron_device.h"
#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/status.h"

namespace kprof {

// Tells whether a device can be asked, and measured on.
enum class DeviceHealth {
  kOk,
  kStarting,      // it is being asked who it is
  kUnresponsive,  // its driver hangs
  kLost,          // fallen off the bus, unplugged, wants a reset, or its driver was unloaded
  kFailed,        // its library or its worker fails in another way
};

constexpr std::string_view DeviceHealthName(DeviceHealth health) {
  switch (health) {
    case DeviceHealth::kOk:
      return "ok";
    case DeviceHealth::kStarting:
      return "starting";
    case DeviceHealth::kUnresponsive:
      return "unresponsive";
    case DeviceHealth::kLost:
      return "lost";
    case DeviceHealth::kFailed:
      break;
  }
  return "failed";
}

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
