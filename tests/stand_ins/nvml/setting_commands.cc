// Keys for what a driver remembers of a device, as another tool would have set it; and for what it accepts.
#include <vector>

#include "tests/stand_ins/nvml/clock_table.h"
#include "tests/stand_ins/nvml/command_list.h"
#include "tests/stand_ins/nvml/settings.h"

namespace kprof::nvml_stand_in {
namespace {

// The limits of a lock, numbers or the symbols of nvmlDeviceSetGpuLockedClocks.
unsigned TakeLimit(Words& words) {
  if (words.Take("tdp")) return nvml::kClockLimitTdp;
  if (words.Take("unlimited")) return nvml::kClockLimitUnlimited;
  return words.Small("the megahertz");
}

void SetPersistence(Device& device, Words& words) {
  const bool is_on = words.OnOff("persistence mode");
  if (words.Wrong().empty()) device.persistence = is_on;
}

void SetGpuLock(Device& device, Words& words) {
  if (words.Take("off")) {
    if (words.Wrong().empty()) ResetGpuClocks(device);
    return;
  }
  const unsigned min = TakeLimit(words);
  const unsigned max = TakeLimit(words);
  if (words.Wrong().empty() && LockGpuClocks(device, min, max) != nvml::kSuccess) words.Fail("it is no range");
}

void SetMemoryLock(Device& device, Words& words) {
  if (words.Take("off")) {
    if (words.Wrong().empty()) ResetMemoryClocks(device);
    return;
  }
  const unsigned min = words.Small("the megahertz");
  const unsigned max = words.Small("the megahertz");
  if (words.Wrong().empty() && LockMemoryClocks(device, min, max) != nvml::kSuccess) words.Fail("it is no range");
}

void SetApplicationClocks(Device& device, Words& words) {
  if (words.Take("none")) {
    if (!words.Wrong().empty()) return;
    device.has_application_clocks = false;
    device.app_clocks_are_set = false;
    return;
  }
  if (!device.has_application_clocks) words.Fail("the device has none");
  if (words.Take("default")) {
    if (words.Wrong().empty()) ResetApplicationClocks(device);
    return;
  }
  const unsigned memory_mhz = words.Small("the memory clock");
  const unsigned graphics_mhz = words.Small("the graphics clock");
  if (!words.Wrong().empty()) return;
  if (SetApplicationClocks(device, memory_mhz, graphics_mhz) != nvml::kSuccess) {
    words.Fail("the device does not have these clocks");
  }
}

void SetPowerLimit(Device& device, Words& words) {
  const unsigned limit_mw = words.Small("the milliwatts");
  if (words.Wrong().empty()) device.power_limit_mw = limit_mw;
}

void SetPowerRange(Device& device, Words& words) {
  const unsigned least_mw = words.Small("the least milliwatts");
  const unsigned most_mw = words.Small("the most milliwatts", least_mw);
  if (!words.Wrong().empty()) return;
  device.least_power_limit_mw = least_mw;
  device.most_power_limit_mw = most_mw;
}

void SetDefaultPowerLimit(Device& device, Words& words) {
  const unsigned limit_mw = words.Small("the milliwatts");
  if (words.Wrong().empty()) device.default_power_limit_mw = limit_mw;
}

void SetClocks(Device& device, Words& words) {
  std::vector<MemoryClock> clocks;
  do {
    const unsigned mhz = words.Small("a memory clock", 1, clocks.empty() ? UINT32_MAX : clocks.back().mhz - 1);
    const unsigned least = words.Small("its least graphics clock", 1);
    const unsigned most =
        words.Small("its most graphics clock", least, clocks.empty() ? 100'000 : clocks[0].most_graphics_mhz);
    clocks.push_back({mhz, least, most});
  } while (words.more() && clocks.size() < kMostMemoryClocks);
  if (!words.Wrong().empty()) return;
  device.memory_clock_count = 0;
  for (const MemoryClock& clock : clocks) device.memory_clocks[device.memory_clock_count++] = clock;
  device.idle_memory_mhz = clocks.back().mhz;
  device.base_graphics_mhz = ClosestGraphics(device, device.base_graphics_mhz);
  device.default_app_memory_mhz = HighestMemory(device);
  device.default_app_graphics_mhz = ClosestGraphics(device, device.default_app_graphics_mhz);
  ResetApplicationClocks(device);
  ResetGpuClocks(device);
  ResetMemoryClocks(device);
}

void SetBaseClock(Device& device, Words& words) {
  const unsigned mhz = words.Small("the megahertz");
  if (words.Wrong().empty()) device.base_graphics_mhz = ClosestGraphics(device, mhz);
}

constexpr DeviceCommand kCommands[] = {
    {"persistence", "on|off", SetPersistence},
    {"lock", "MIN MAX|off (MHz, or tdp and unlimited)", SetGpuLock},
    {"memory_lock", "MIN MAX|off (MHz)", SetMemoryLock},
    {"app_clocks", "MEMORY GRAPHICS|default|none (none: not supported)", SetApplicationClocks},
    {"power_limit_mw", "N", SetPowerLimit},
    {"power_default_mw", "N", SetDefaultPowerLimit},
    {"power_range_mw", "LEAST MOST", SetPowerRange},
    {"clocks", "MEMORY LEAST_GRAPHICS MOST_GRAPHICS [MEMORY ...] (from the highest memory clock on)", SetClocks},
    {"base_clock", "MHZ", SetBaseClock},
};

}  // namespace

std::span<const DeviceCommand> SettingCommands() {
  return kCommands;
}

}  // namespace kprof::nvml_stand_in
