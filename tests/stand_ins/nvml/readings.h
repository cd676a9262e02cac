// What a device's sensors show: all of it follows from its load, its settings and what a script forces.
//
// Power rises with the clock to the power of 2.5, between idle_power_mw and full_power_mw, and in proportion to the
// load. Where it would exceed the limit, the clock falls to the highest that does not: also below a lock, as on real
// devices.
#pragma once

#include <cstdint>

#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

// Why the clock is not the highest.
constexpr uint64_t kReasonGpuIdle = 0x1;
constexpr uint64_t kReasonApplicationsClocks = 0x2;
constexpr uint64_t kReasonSwPowerCap = 0x4;
constexpr uint64_t kReasonHwSlowdown = 0x8;
constexpr uint64_t kReasonSwThermal = 0x20;
constexpr uint64_t kReasonHwThermal = 0x40;
constexpr uint64_t kReasonHwPowerBrake = 0x80;

struct Readings {
  unsigned load = 0;  // percent
  unsigned graphics_mhz = 0;
  unsigned memory_mhz = 0;
  unsigned video_mhz = 0;
  unsigned power_mw = 0;
  unsigned temperature_c = 0;
  uint64_t reasons = 0;
};

Readings ReadSensors(const Device& device);

// Counts what it used up to now, at its present power: before anything that changes it, and before it is read.
void SettleEnergy(Device& device, uint64_t now_mono_ns);

}  // namespace kprof::nvml_stand_in
