// NVML: clocks, their limits and locks, and why they are not higher.
#include "tests/stand_ins/nvml/clock_table.h"
#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/readings.h"

using kprof::nvml::ClockType;
using kprof::nvml::DeviceHandle;
using kprof::nvml::EnableState;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallDevice;
using kprof::nvml_stand_in::CallSetter;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::GiveNumbers;
using kprof::nvml_stand_in::Model;
using kprof::nvml_stand_in::Setting;
namespace nvml = kprof::nvml;
namespace stand_in = kprof::nvml_stand_in;

namespace {

// Of a clock type the graphics clock, which multiprocessors share, the memory clock or the video clock.
Return GiveClock(ClockType type, unsigned graphics_mhz, unsigned memory_mhz, unsigned video_mhz, unsigned* clock) {
  switch (type) {
    case nvml::kClockGraphics:
    case nvml::kClockSm:
      return Give(graphics_mhz, clock);
    case nvml::kClockMem:
      return Give(memory_mhz, clock);
    case nvml::kClockVideo:
      return video_mhz == 0 ? nvml::kNotSupported : Give(video_mhz, clock);
  }
  return nvml::kInvalidArgument;
}

}  // namespace

KPROF_NVML_EXPORT Return nvmlDeviceGetPersistenceMode(DeviceHandle handle, EnableState* mode) {
  return CallDevice(Function::nvmlDeviceGetPersistenceMode, handle, [&](Model&, Device& device) {
    return Give(device.persistence ? nvml::kEnabled : nvml::kDisabled, mode);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceSetPersistenceMode(DeviceHandle handle, EnableState mode) {
  return CallSetter(Function::nvmlDeviceSetPersistenceMode, handle, Setting::kPersistence, static_cast<unsigned>(mode),
                    0, [&](Device& device) { return stand_in::SetPersistence(device, mode); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetClockInfo(DeviceHandle handle, ClockType type, unsigned* clock) {
  return CallDevice(Function::nvmlDeviceGetClockInfo, handle, [&](Model&, Device& device) {
    const stand_in::Readings now = stand_in::ReadSensors(device);
    return GiveClock(type, now.graphics_mhz, now.memory_mhz, now.video_mhz, clock);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetMaxClockInfo(DeviceHandle handle, ClockType type, unsigned* clock) {
  return CallDevice(Function::nvmlDeviceGetMaxClockInfo, handle, [&](Model&, Device& device) {
    const unsigned graphics_mhz = stand_in::HighestGraphics(device);
    return GiveClock(type, graphics_mhz, stand_in::HighestMemory(device), graphics_mhz - graphics_mhz / 12, clock);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetSupportedMemoryClocks(DeviceHandle handle, unsigned* count, unsigned* clocks) {
  return CallDevice(Function::nvmlDeviceGetSupportedMemoryClocks, handle,
                    [&](Model&, Device& device) { return GiveNumbers(stand_in::MemoryClocks(device), count, clocks); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetSupportedGraphicsClocks(DeviceHandle handle, unsigned memory_mhz, unsigned* count,
                                                              unsigned* clocks) {
  return CallDevice(Function::nvmlDeviceGetSupportedGraphicsClocks, handle, [&](Model&, Device& device) {
    const auto supported = stand_in::GraphicsClocks(device, memory_mhz);
    return supported.empty() ? nvml::kNotFound : GiveNumbers(supported, count, clocks);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetApplicationsClock(DeviceHandle handle, ClockType type, unsigned* clock) {
  return CallDevice(Function::nvmlDeviceGetApplicationsClock, handle, [&](Model&, Device& device) {
    if (!device.has_application_clocks) return nvml::kNotSupported;
    return GiveClock(type, device.app_graphics_mhz, device.app_memory_mhz, 0, clock);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetDefaultApplicationsClock(DeviceHandle handle, ClockType type, unsigned* clock) {
  return CallDevice(Function::nvmlDeviceGetDefaultApplicationsClock, handle, [&](Model&, Device& device) {
    if (!device.has_application_clocks) return nvml::kNotSupported;
    return GiveClock(type, device.default_app_graphics_mhz, device.default_app_memory_mhz, 0, clock);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceSetApplicationsClocks(DeviceHandle handle, unsigned memory_mhz,
                                                         unsigned graphics_mhz) {
  return CallSetter(Function::nvmlDeviceSetApplicationsClocks, handle, Setting::kApplicationClocks, memory_mhz,
                    graphics_mhz,
                    [&](Device& device) { return stand_in::SetApplicationClocks(device, memory_mhz, graphics_mhz); });
}

KPROF_NVML_EXPORT Return nvmlDeviceResetApplicationsClocks(DeviceHandle handle) {
  return CallSetter(Function::nvmlDeviceResetApplicationsClocks, handle, Setting::kApplicationClocks, 0, 0,
                    stand_in::ResetApplicationClocks);
}

KPROF_NVML_EXPORT Return nvmlDeviceSetGpuLockedClocks(DeviceHandle handle, unsigned min, unsigned max) {
  return CallSetter(Function::nvmlDeviceSetGpuLockedClocks, handle, Setting::kGpuLock, min, max,
                    [&](Device& device) { return stand_in::LockGpuClocks(device, min, max); });
}

KPROF_NVML_EXPORT Return nvmlDeviceResetGpuLockedClocks(DeviceHandle handle) {
  return CallSetter(Function::nvmlDeviceResetGpuLockedClocks, handle, Setting::kGpuLock, 0, 0,
                    stand_in::ResetGpuClocks);
}

KPROF_NVML_EXPORT Return nvmlDeviceSetMemoryLockedClocks(DeviceHandle handle, unsigned min, unsigned max) {
  return CallSetter(Function::nvmlDeviceSetMemoryLockedClocks, handle, Setting::kMemoryLock, min, max,
                    [&](Device& device) { return stand_in::LockMemoryClocks(device, min, max); });
}

KPROF_NVML_EXPORT Return nvmlDeviceResetMemoryLockedClocks(DeviceHandle handle) {
  return CallSetter(Function::nvmlDeviceResetMemoryLockedClocks, handle, Setting::kMemoryLock, 0, 0,
                    stand_in::ResetMemoryClocks);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetCurrentClocksEventReasons(DeviceHandle handle, unsigned long long* reasons) {
  return CallDevice(Function::nvmlDeviceGetCurrentClocksEventReasons, handle, [&](Model&, Device& device) {
    return Give<unsigned long long>(stand_in::ReadSensors(device).reasons, reasons);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetCurrentClocksThrottleReasons(DeviceHandle handle, unsigned long long* reasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(handle, reasons);
}
