// NVML: the instances of a GPU with MIG.
#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/library/handles.h"

using kprof::nvml::DeviceAttributes;
using kprof::nvml::DeviceHandle;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallDevice;
using kprof::nvml_stand_in::CallDeviceOrInstance;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::HandleOf;
using kprof::nvml_stand_in::kMostInstances;
using kprof::nvml_stand_in::Mig;
using kprof::nvml_stand_in::MigInstance;
using kprof::nvml_stand_in::Model;
namespace nvml = kprof::nvml;

KPROF_NVML_EXPORT Return nvmlDeviceGetMigMode(DeviceHandle handle, unsigned* current, unsigned* pending) {
  return CallDevice(Function::nvmlDeviceGetMigMode, handle, [&](Model&, Device& device) {
    if (current == nullptr || pending == nullptr) return nvml::kInvalidArgument;
    if (device.mig == Mig::kNotSupported) return nvml::kNotSupported;
    *current = *pending = device.mig == Mig::kEnabled ? nvml::kMigEnabled : nvml::kMigDisabled;
    return nvml::kSuccess;
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetMaxMigDeviceCount(DeviceHandle handle, unsigned* count) {
  return CallDevice(Function::nvmlDeviceGetMaxMigDeviceCount, handle, [&](Model&, Device& device) {
    return Give(device.mig == Mig::kEnabled ? kMostInstances : 0, count);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetMigDeviceHandleByIndex(DeviceHandle handle, unsigned index,
                                                             DeviceHandle* instance) {
  return CallDevice(Function::nvmlDeviceGetMigDeviceHandleByIndex, handle, [&](Model& model, Device& device) {
    if (device.mig == Mig::kNotSupported) return nvml::kNotSupported;
    if (index >= kMostInstances || instance == nullptr) return nvml::kInvalidArgument;
    if (device.mig != Mig::kEnabled || index >= device.instance_count) return nvml::kNotFound;
    const auto slot = static_cast<unsigned>(&device - model.devices);
    return Give(HandleOf({.slot = slot, .instance = static_cast<int>(index)}), instance);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetGpuInstanceId(DeviceHandle handle, unsigned* id) {
  return CallDeviceOrInstance(Function::nvmlDeviceGetGpuInstanceId, handle,
                              [&](Model&, Device&, const MigInstance* instance) {
                                if (instance == nullptr) return nvml::kInvalidArgument;
                                return Give(instance->gpu_instance_id, id);
                              });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetComputeInstanceId(DeviceHandle handle, unsigned* id) {
  return CallDeviceOrInstance(Function::nvmlDeviceGetComputeInstanceId, handle,
                              [&](Model&, Device&, const MigInstance* instance) {
                                if (instance == nullptr) return nvml::kInvalidArgument;
                                return Give(instance->compute_instance_id, id);
                              });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetAttributes_v2(DeviceHandle handle, DeviceAttributes* attributes) {
  return CallDeviceOrInstance(Function::nvmlDeviceGetAttributes_v2, handle,
                              [&](Model&, Device&, const MigInstance* instance) {
                                if (instance == nullptr) return nvml::kNotSupported;
                                return Give(DeviceAttributes{.multiprocessor_count = instance->multiprocessors,
                                                             .shared_copy_engine_count = instance->slices,
                                                             .shared_decoder_count = instance->slices,
                                                             .shared_encoder_count = 0,
                                                             .shared_jpeg_count = instance->slices,
                                                             .shared_ofa_count = 0,
                                                             .gpu_instance_slice_count = instance->slices,
                                                             .compute_instance_slice_count = instance->slices,
                                                             .memory_size_mb = instance->memory_mb},
                                            attributes);
                              });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetAttributes(DeviceHandle handle, DeviceAttributes* attributes) {
  return nvmlDeviceGetAttributes_v2(handle, attributes);
}
