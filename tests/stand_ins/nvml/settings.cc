#include "tests/stand_ins/nvml/settings.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "tests/stand_ins/nvml/clock_table.h"
#include "tests/stand_ins/nvml/model_file.h"

namespace kprof::nvml_stand_in {
namespace {

// Of nvmlClockLimitId_t: from here on a number is none of megahertz.
constexpr unsigned kFirstSymbolic = 0xffffff00;

bool IsSymbolic(unsigned limit) {
  return limit == nvml::kClockLimitTdp || limit == nvml::kClockLimitUnlimited;
}

}  // namespace

bool IsSupported(const Device& device, Setting setting) {
  switch (setting) {
    case Setting::kPersistence:
    case Setting::kPowerLimit:
      return true;
    case Setting::kApplicationClocks:
      return device.has_application_clocks;
    case Setting::kGpuLock:
      return device.compute_major >= 7;
    case Setting::kMemoryLock:
      return device.compute_major >= 8;
  }
  return false;
}

bool IsAllowed(const Device& device) {
  switch (device.permission) {
    case Permission::kAll:
      return true;
    case Permission::kNone:
      return false;
    case Permission::kRoot:
      break;
  }
  return ::geteuid() == 0;
}

nvml::Return SetPersistence(Device& device, int mode) {
  if (mode != nvml::kDisabled && mode != nvml::kEnabled) return nvml::kInvalidArgument;
  device.persistence = mode == nvml::kEnabled;
  return nvml::kSuccess;
}

nvml::Return SetApplicationClocks(Device& device, unsigned memory_mhz, unsigned graphics_mhz) {
  const std::vector<unsigned> clocks = GraphicsClocks(device, memory_mhz);
  if (std::find(clocks.begin(), clocks.end(), graphics_mhz) == clocks.end()) return nvml::kInvalidArgument;
  device.app_clocks_are_set = true;
  device.app_memory_mhz = memory_mhz;
  device.app_graphics_mhz = graphics_mhz;
  return nvml::kSuccess;
}

nvml::Return ResetApplicationClocks(Device& device) {
  device.app_clocks_are_set = false;
  device.app_memory_mhz = device.default_app_memory_mhz;
  device.app_graphics_mhz = device.default_app_graphics_mhz;
  return nvml::kSuccess;
}

nvml::Return LockGpuClocks(Device& device, unsigned min, unsigned max) {
  if (IsSymbolic(min) != IsSymbolic(max)) return nvml::kInvalidArgument;
  if (IsSymbolic(min)) {
    const bool is_bounded_below = min == nvml::kClockLimitTdp;
    const bool is_bounded_above = max == nvml::kClockLimitTdp;
    if (!is_bounded_below && !is_bounded_above) return ResetGpuClocks(device);
    device.gpu_lock.min_mhz = is_bounded_below ? device.base_graphics_mhz : LowestGraphics(device);
    device.gpu_lock.max_mhz = is_bounded_above ? device.base_graphics_mhz : HighestGraphics(device);
    return nvml::kSuccess;
  }
  if (min > max || max >= kFirstSymbolic) return nvml::kInvalidArgument;
  device.gpu_lock = {ClosestGraphics(device, min), ClosestGraphics(device, max)};
  return nvml::kSuccess;
}

nvml::Return ResetGpuClocks(Device& device) {
  device.gpu_lock = {};
  return nvml::kSuccess;
}

nvml::Return LockMemoryClocks(Device& device, unsigned min, unsigned max) {
  if (min > max || max >= kFirstSymbolic) return nvml::kInvalidArgument;
  device.memory_lock = {ClosestMemory(device, min), ClosestMemory(device, max)};
  return nvml::kSuccess;
}

nvml::Return ResetMemoryClocks(Device& device) {
  device.memory_lock = {};
  return nvml::kSuccess;
}

nvml::Return SetPowerLimit(Device& device, unsigned limit_mw) {
  if (limit_mw < device.least_power_limit_mw || limit_mw > device.most_power_limit_mw) return nvml::kInvalidArgument;
  device.power_limit_mw = limit_mw;
  return nvml::kSuccess;
}

void ForgetSettings(Device& device) {
  ResetGpuClocks(device);
  ResetMemoryClocks(device);
  ResetApplicationClocks(device);
  device.power_limit_mw = device.default_power_limit_mw;
  for (auto& counters : device.ecc_errors) counters[nvml::kEccVolatile] = 0;
  device.energy_uj = 0;
  device.energy_mono_ns = MonoNs();
}

}  // namespace kprof::nvml_stand_in
