#include "tests/stand_ins/nvml/readings.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/stand_ins/nvml/clock_table.h"
#include "tests/stand_ins/nvml/living.h"

namespace kprof::nvml_stand_in {
namespace {

constexpr uint64_t kHardwareReasons = kReasonHwSlowdown | kReasonHwThermal | kReasonHwPowerBrake;

bool IsLocked(const ClockLock& lock) {
  return lock.max_mhz != 0;
}

unsigned LoadOf(const Device& device) {
  if (device.load_of_pid != 0) return IsAlive(device.load_of_pid) ? 100 : 0;
  return device.load;
}

unsigned TemperatureOf(const Device& device, unsigned load) {
  if (device.temperature_c != kDerived) return static_cast<unsigned>(device.temperature_c);
  return device.idle_temperature_c + (device.full_temperature_c - device.idle_temperature_c) * load / 100;
}

// What a script forces, and what heat does.
uint64_t SlowdownReasons(const Device& device, unsigned temperature_c) {
  uint64_t reasons = device.scripted_reasons;
  const unsigned slowdown_c = device.thresholds_c[nvml::kThresholdSlowdown];
  const unsigned gpu_max_c = device.thresholds_c[nvml::kThresholdGpuMax];
  if (slowdown_c != 0 && temperature_c >= slowdown_c) reasons |= kReasonHwSlowdown | kReasonHwThermal;
  if (gpu_max_c != 0 && temperature_c >= gpu_max_c) reasons |= kReasonSwThermal;
  return reasons;
}

// The lowest memory clock, from the idle one up, that goes with this graphics clock.
unsigned IdleMemoryMhz(const Device& device, unsigned least_graphics_mhz) {
  for (unsigned i = device.memory_clock_count; i-- > 0;) {
    const MemoryClock& memory = device.memory_clocks[i];
    if (memory.mhz >= device.idle_memory_mhz && memory.most_graphics_mhz >= least_graphics_mhz) return memory.mhz;
  }
  return HighestMemory(device);
}

unsigned MemoryMhz(const Device& device, unsigned load) {
  unsigned mhz = IdleMemoryMhz(device, device.gpu_lock.min_mhz);
  if (load > 0) mhz = device.app_clocks_are_set ? device.app_memory_mhz : HighestMemory(device);
  if (IsLocked(device.memory_lock)) mhz = std::clamp(mhz, device.memory_lock.min_mhz, device.memory_lock.max_mhz);
  return mhz;
}

unsigned PowerMw(const Device& device, unsigned graphics_mhz, unsigned load) {
  const double clock = static_cast<double>(graphics_mhz) / HighestGraphics(device);
  const double above_idle = static_cast<double>(device.full_power_mw) - device.idle_power_mw;
  return device.idle_power_mw + static_cast<unsigned>(above_idle * std::pow(clock, 2.5) * load / 100);
}

// The highest of `clocks`, which go down, that is at most `mhz`; else the lowest.
unsigned HighestUpTo(const std::vector<unsigned>& clocks, unsigned mhz) {
  for (unsigned clock : clocks) {
    if (clock <= mhz) return clock;
  }
  return clocks.back();
}

}  // namespace

Readings ReadSensors(const Device& device) {
  Readings now;
  now.load = LoadOf(device);
  now.temperature_c = TemperatureOf(device, now.load);
  now.memory_mhz = MemoryMhz(device, now.load);
  now.reasons = SlowdownReasons(device, now.temperature_c);
  const std::vector<unsigned> clocks = GraphicsClocks(device, now.memory_mhz);
  if (now.load == 0) {
    // A lock holds also where nothing runs.
    now.graphics_mhz = HighestUpTo(clocks, std::max(clocks.back(), device.gpu_lock.min_mhz));
    now.reasons |= kReasonGpuIdle;
  } else {
    unsigned wanted = clocks.front();
    if (IsLocked(device.gpu_lock)) {
      wanted = device.gpu_lock.max_mhz;
    } else if (device.app_clocks_are_set) {
      wanted = device.app_graphics_mhz;
    }
    wanted = HighestUpTo(clocks, wanted);
    if (wanted < clocks.front()) now.reasons |= kReasonApplicationsClocks;
    // The hardware cuts the clock by half or more, the driver by less.
    unsigned held = wanted;
    if ((now.reasons & kReasonSwThermal) != 0) held = HighestUpTo(clocks, wanted - wanted / 5);
    if ((now.reasons & kHardwareReasons) != 0) held = HighestUpTo(clocks, wanted / 2);
    now.graphics_mhz = held;
    if (PowerMw(device, held, now.load) > device.power_limit_mw) {
      now.reasons |= kReasonSwPowerCap;
      const auto fits = std::find_if(clocks.begin(), clocks.end(), [&](unsigned clock) {
        return clock <= held && PowerMw(device, clock, now.load) <= device.power_limit_mw;
      });
      now.graphics_mhz = fits == clocks.end() ? clocks.back() : *fits;
    }
    // It is not the setting that holds what falls below it.
    if (now.graphics_mhz < wanted) now.reasons &= ~kReasonApplicationsClocks;
  }
  now.video_mhz = now.graphics_mhz - now.graphics_mhz / 12;
  now.power_mw = PowerMw(device, now.graphics_mhz, now.load);
  return now;
}

void SettleEnergy(Device& device, uint64_t now_mono_ns) {
  if (now_mono_ns <= device.energy_mono_ns) return;
  // mW for a microsecond is a nanojoule.
  const uint64_t elapsed_us = (now_mono_ns - device.energy_mono_ns) / 1000;
  device.energy_uj += elapsed_us * ReadSensors(device).power_mw / 1000;
  device.energy_mono_ns += elapsed_us * 1000;
}

}  // namespace kprof::nvml_stand_in
