// NVML: the node, and how devices are found.
#include <cstring>

#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/library/handles.h"

using kprof::nvml::DeviceHandle;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallNode;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::GiveText;
using kprof::nvml_stand_in::HandleOf;
using kprof::nvml_stand_in::Model;
namespace nvml = kprof::nvml;

KPROF_NVML_EXPORT Return nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return CallNode(Function::nvmlSystemGetDriverVersion,
                  [&](Model& model) { return GiveText(model.driver_version, version, length); });
}

KPROF_NVML_EXPORT Return nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return CallNode(Function::nvmlSystemGetNVMLVersion,
                  [&](Model& model) { return GiveText(model.nvml_version, version, length); });
}

KPROF_NVML_EXPORT Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return CallNode(Function::nvmlSystemGetCudaDriverVersion_v2,
                  [&](Model& model) { return Give(model.cuda_version, version); });
}

KPROF_NVML_EXPORT Return nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetCount_v2(unsigned* count) {
  return CallNode(Function::nvmlDeviceGetCount_v2, [&](Model& model) {
    unsigned plugged = 0;
    for (unsigned slot = 0; slot < model.device_count; ++slot) plugged += model.devices[slot].is_plugged ? 1 : 0;
    return Give(plugged, count);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, DeviceHandle* handle) {
  return CallNode(Function::nvmlDeviceGetHandleByIndex_v2, [&](Model& model) {
    if (handle == nullptr) return nvml::kInvalidArgument;
    unsigned seen = 0;
    for (unsigned slot = 0; slot < model.device_count; ++slot) {
      const Device& device = model.devices[slot];
      if (!device.is_plugged || seen++ != index) continue;
      return device.is_lost ? nvml::kGpuIsLost : Give(HandleOf({.slot = slot}), handle);
    }
    return nvml::kInvalidArgument;
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetHandleByIndex(unsigned index, DeviceHandle* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetHandleByUUID(const char* uuid, DeviceHandle* handle) {
  return CallNode(Function::nvmlDeviceGetHandleByUUID, [&](Model& model) {
    if (uuid == nullptr || handle == nullptr) return nvml::kInvalidArgument;
    for (unsigned slot = 0; slot < model.device_count; ++slot) {
      const Device& device = model.devices[slot];
      if (!device.is_plugged) continue;
      if (std::strcmp(device.uuid, uuid) == 0) {
        return device.is_lost ? nvml::kGpuIsLost : Give(HandleOf({.slot = slot}), handle);
      }
      for (unsigned i = 0; i < device.instance_count; ++i) {
        if (std::strcmp(device.instances[i].uuid, uuid) != 0) continue;
        return device.is_lost ? nvml::kGpuIsLost
                              : Give(HandleOf({.slot = slot, .instance = static_cast<int>(i)}), handle);
      }
    }
    return nvml::kNotFound;
  });
}
