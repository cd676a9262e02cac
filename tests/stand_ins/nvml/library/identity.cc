// NVML: what a device is.
#include <cstdio>
#include <cstring>

#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/pci_text.h"

using kprof::nvml::DeviceHandle;
using kprof::nvml::EccCounter;
using kprof::nvml::EnableState;
using kprof::nvml::MemoryErrorType;
using kprof::nvml::PciInfo;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallDevice;
using kprof::nvml_stand_in::CallDeviceOrInstance;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Ecc;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::GiveText;
using kprof::nvml_stand_in::MigInstance;
using kprof::nvml_stand_in::Model;
using kprof::nvml_stand_in::WritePci;
namespace nvml = kprof::nvml;

KPROF_NVML_EXPORT Return nvmlDeviceGetUUID(DeviceHandle handle, char* uuid, unsigned length) {
  return CallDeviceOrInstance(Function::nvmlDeviceGetUUID, handle,
                              [&](Model&, Device& device, const MigInstance* instance) {
                                return GiveText(instance != nullptr ? instance->uuid : device.uuid, uuid, length);
                              });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetName(DeviceHandle handle, char* name, unsigned length) {
  return CallDeviceOrInstance(Function::nvmlDeviceGetName, handle,
                              [&](Model&, Device& device, const MigInstance* instance) {
                                if (instance == nullptr) return GiveText(device.name, name, length);
                                char text[2 * nvml::kNameBytes];
                                std::snprintf(text, sizeof(text), "%s MIG %ug.%llugb", device.name, instance->slices,
                                              static_cast<unsigned long long>((instance->memory_mb + 512) / 1024));
                                return GiveText(text, name, length);
                              });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetSerial(DeviceHandle handle, char* serial, unsigned length) {
  return CallDevice(Function::nvmlDeviceGetSerial, handle, [&](Model&, Device& device) {
    if (device.serial[0] == '\0') return nvml::kNotSupported;
    return GiveText(device.serial, serial, length);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetPciInfo_v3(DeviceHandle handle, PciInfo* pci) {
  return CallDevice(Function::nvmlDeviceGetPciInfo_v3, handle, [&](Model&, Device& device) {
    PciInfo info{};
    WritePci(device.pci, info);
    info.pci_device_id = device.pci_device_id;
    info.pci_subsystem_id = device.pci_subsystem_id;
    return Give(info, pci);
  });
}

// Of a time before bus_id: there its struct had 16 reserved bytes in that place, and the rest is never written.
KPROF_NVML_EXPORT Return nvmlDeviceGetPciInfo_v2(DeviceHandle handle, PciInfo* pci) {
  constexpr size_t kReservedBytes = 16;
  PciInfo info{};
  const Return got = nvmlDeviceGetPciInfo_v3(handle, pci != nullptr ? &info : nullptr);
  if (got != nvml::kSuccess) return got;
  std::memset(info.bus_id, 0, sizeof(info.bus_id));
  std::memcpy(pci, &info, offsetof(PciInfo, bus_id) + kReservedBytes);
  return got;
}

KPROF_NVML_EXPORT Return nvmlDeviceGetMinorNumber(DeviceHandle handle, unsigned* minor) {
  return CallDevice(Function::nvmlDeviceGetMinorNumber, handle,
                    [&](Model&, Device& device) { return Give(device.minor, minor); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetArchitecture(DeviceHandle handle, unsigned* architecture) {
  return CallDevice(Function::nvmlDeviceGetArchitecture, handle,
                    [&](Model&, Device& device) { return Give(device.architecture, architecture); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetCudaComputeCapability(DeviceHandle handle, int* major, int* minor) {
  return CallDevice(Function::nvmlDeviceGetCudaComputeCapability, handle, [&](Model&, Device& device) {
    if (major == nullptr || minor == nullptr) return nvml::kInvalidArgument;
    *major = static_cast<int>(device.compute_major);
    *minor = static_cast<int>(device.compute_minor);
    return nvml::kSuccess;
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetVbiosVersion(DeviceHandle handle, char* version, unsigned length) {
  return CallDevice(Function::nvmlDeviceGetVbiosVersion, handle,
                    [&](Model&, Device& device) { return GiveText(device.vbios, version, length); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetNumGpuCores(DeviceHandle handle, unsigned* cores) {
  return CallDevice(Function::nvmlDeviceGetNumGpuCores, handle,
                    [&](Model&, Device& device) { return Give(device.cores, cores); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetMemoryBusWidth(DeviceHandle handle, unsigned* bits) {
  return CallDevice(Function::nvmlDeviceGetMemoryBusWidth, handle,
                    [&](Model&, Device& device) { return Give(device.bus_width_bits, bits); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetEccMode(DeviceHandle handle, EnableState* current, EnableState* pending) {
  return CallDevice(Function::nvmlDeviceGetEccMode, handle, [&](Model&, Device& device) {
    if (current == nullptr || pending == nullptr) return nvml::kInvalidArgument;
    if (device.ecc == Ecc::kNotSupported) return nvml::kNotSupported;
    *current = *pending = device.ecc == Ecc::kEnabled ? nvml::kEnabled : nvml::kDisabled;
    return nvml::kSuccess;
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetTotalEccErrors(DeviceHandle handle, MemoryErrorType type, EccCounter counter,
                                                     unsigned long long* errors) {
  return CallDevice(Function::nvmlDeviceGetTotalEccErrors, handle, [&](Model&, Device& device) {
    const auto type_number = static_cast<unsigned>(type);
    const auto counter_number = static_cast<unsigned>(counter);
    if (type_number > 1 || counter_number > 1) return nvml::kInvalidArgument;
    if (device.ecc != Ecc::kEnabled) return nvml::kNotSupported;
    return Give<unsigned long long>(device.ecc_errors[type_number][counter_number], errors);
  });
}
