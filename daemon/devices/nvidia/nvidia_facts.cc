#include "daemon/devices/nvidia/nvidia_facts.h"

#include <cstdio>

namespace kprof {
namespace {

struct NamedReason {
  uint64_t bit;
  std::string_view name;
  std::string_view text;
};

constexpr NamedReason kNames[] = {
    {clock_reasons::kIdle, "idle", "idle"},
    {clock_reasons::kApplicationClocks, "application_clocks", "application or locked clocks"},
    {clock_reasons::kPowerCap, "power_cap", "SW power cap"},
    {clock_reasons::kHardwareSlowdown, "hw_slowdown", "HW slowdown"},
    {clock_reasons::kSyncBoost, "sync_boost", "sync boost"},
    {clock_reasons::kThermal, "thermal", "SW thermal slowdown"},
    {clock_reasons::kHardwareThermal, "hw_thermal", "HW thermal slowdown"},
    {clock_reasons::kPowerBrake, "power_brake", "HW power brake"},
    {clock_reasons::kDisplay, "display", "display clocks"},
};

}  // namespace

std::string_view ClockReasonName(uint64_t bit) {
  for (const NamedReason& named : kNames) {
    if (named.bit == bit) return named.name;
  }
  return "";
}

std::string_view ClockReasonText(uint64_t bit) {
  for (const NamedReason& named : kNames) {
    if (named.bit == bit) return named.text;
  }
  return "a reason without a name";
}

std::vector<std::string> ClockReasonNames(uint64_t reasons) {
  std::vector<std::string> names;
  for (int place = 0; place < 64; ++place) {
    const uint64_t bit = uint64_t{1} << place;
    if ((reasons & bit) == 0) continue;
    std::string name(ClockReasonName(bit));
    if (name.empty()) {
      char text[20];
      std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bit));
      name = text;
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace kprof
