// Whether a device can be asked, and measured on.
#pragma once

#include <string_view>

namespace kprof {

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

}  // namespace kprof
