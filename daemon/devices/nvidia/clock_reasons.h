// Why a GPU's clock is what it is: the bits of NVML's clock event reasons, their names, and which of them say that a
// measurement ran slower than it was to. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kprof {

namespace clock_reasons {
constexpr uint64_t kIdle = 0x1;
constexpr uint64_t kApplicationClocks = 0x2;  // application clocks, or a lock
constexpr uint64_t kPowerCap = 0x4;
constexpr uint64_t kHardwareSlowdown = 0x8;
constexpr uint64_t kSyncBoost = 0x10;
constexpr uint64_t kThermal = 0x20;
constexpr uint64_t kHardwareThermal = 0x40;
constexpr uint64_t kPowerBrake = 0x80;
constexpr uint64_t kDisplay = 0x100;
// Any of these: the device could not run as fast as it was asked to.
constexpr uint64_t kThrottles = kPowerCap | kHardwareSlowdown | kThermal | kHardwareThermal | kPowerBrake;
}  // namespace clock_reasons

// One bit's stable name, "power_cap"; "" for one that has none.
std::string_view ClockReasonName(uint64_t bit);

// Of all bits that are set, lowest first; one without a name is its number: "0x400".
std::vector<std::string> ClockReasonNames(uint64_t reasons);

// As people say it: "SW power cap".
std::string_view ClockReasonText(uint64_t bit);

}  // namespace kprof
