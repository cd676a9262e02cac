// What setters do to a device, as the driver does it: what it accepts, what it rounds, what it forgets.
#pragma once

#include "daemon/devices/nvidia/nvml_abi.h"
#include "tests/stand_ins/nvml/model.h"

namespace kprof::nvml_stand_in {

enum class Setting { kPersistence, kApplicationClocks, kGpuLock, kMemoryLock, kPowerLimit };

// Locks of the graphics clock came with compute capability 7.0, of the memory clock with 8.0.
bool IsSupported(const Device& device, Setting setting);

// Whether this process may change its settings.
bool IsAllowed(const Device& device);

// Each returns what NVML does, and changes nothing unless that is success. The device supports it, the caller may.
nvml::Return SetPersistence(Device& device, int mode);
nvml::Return SetApplicationClocks(Device& device, unsigned memory_mhz, unsigned graphics_mhz);
nvml::Return ResetApplicationClocks(Device& device);
nvml::Return LockGpuClocks(Device& device, unsigned min, unsigned max);
nvml::Return ResetGpuClocks(Device& device);
nvml::Return LockMemoryClocks(Device& device, unsigned min, unsigned max);
nvml::Return ResetMemoryClocks(Device& device);
nvml::Return SetPowerLimit(Device& device, unsigned limit_mw);

// What a driver forgets that is torn down: all that is not in the device's own memory.
void ForgetSettings(Device& device);

}  // namespace kprof::nvml_stand_in
