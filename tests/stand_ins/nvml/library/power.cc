// NVML: power, heat and how busy a device is.
#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"
#include "tests/stand_ins/nvml/model_file.h"
#include "tests/stand_ins/nvml/readings.h"

using kprof::nvml::DeviceHandle;
using kprof::nvml::Return;
using kprof::nvml::TemperatureSensor;
using kprof::nvml::TemperatureThreshold;
using kprof::nvml::Utilization;
using kprof::nvml_stand_in::CallDevice;
using kprof::nvml_stand_in::CallSetter;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::kDerived;
using kprof::nvml_stand_in::Mig;
using kprof::nvml_stand_in::Model;
using kprof::nvml_stand_in::ReadSensors;
using kprof::nvml_stand_in::Setting;
namespace nvml = kprof::nvml;
namespace stand_in = kprof::nvml_stand_in;

KPROF_NVML_EXPORT Return nvmlDeviceGetPowerUsage(DeviceHandle handle, unsigned* power_mw) {
  return CallDevice(Function::nvmlDeviceGetPowerUsage, handle,
                    [&](Model&, Device& device) { return Give(ReadSensors(device).power_mw, power_mw); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetPowerManagementLimit(DeviceHandle handle, unsigned* limit_mw) {
  return CallDevice(Function::nvmlDeviceGetPowerManagementLimit, handle,
                    [&](Model&, Device& device) { return Give(device.power_limit_mw, limit_mw); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetPowerManagementDefaultLimit(DeviceHandle handle, unsigned* limit_mw) {
  return CallDevice(Function::nvmlDeviceGetPowerManagementDefaultLimit, handle,
                    [&](Model&, Device& device) { return Give(device.default_power_limit_mw, limit_mw); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetEnforcedPowerLimit(DeviceHandle handle, unsigned* limit_mw) {
  return CallDevice(Function::nvmlDeviceGetEnforcedPowerLimit, handle,
                    [&](Model&, Device& device) { return Give(device.power_limit_mw, limit_mw); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetPowerManagementLimitConstraints(DeviceHandle handle, unsigned* least_mw,
                                                                      unsigned* most_mw) {
  return CallDevice(Function::nvmlDeviceGetPowerManagementLimitConstraints, handle, [&](Model&, Device& device) {
    if (least_mw == nullptr || most_mw == nullptr) return nvml::kInvalidArgument;
    *least_mw = device.least_power_limit_mw;
    *most_mw = device.most_power_limit_mw;
    return nvml::kSuccess;
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceSetPowerManagementLimit(DeviceHandle handle, unsigned limit_mw) {
  return CallSetter(Function::nvmlDeviceSetPowerManagementLimit, handle, Setting::kPowerLimit, limit_mw, 0,
                    [&](Device& device) { return stand_in::SetPowerLimit(device, limit_mw); });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetTotalEnergyConsumption(DeviceHandle handle, unsigned long long* energy_mj) {
  return CallDevice(Function::nvmlDeviceGetTotalEnergyConsumption, handle, [&](Model&, Device& device) {
    // Since Volta.
    if (device.compute_major < 7) return nvml::kNotSupported;
    stand_in::SettleEnergy(device, stand_in::MonoNs());
    return Give<unsigned long long>(device.energy_uj / 1000, energy_mj);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetTemperature(DeviceHandle handle, TemperatureSensor sensor, unsigned* degrees_c) {
  return CallDevice(Function::nvmlDeviceGetTemperature, handle, [&](Model&, Device& device) {
    if (sensor != nvml::kTemperatureGpu) return nvml::kInvalidArgument;
    return Give(ReadSensors(device).temperature_c, degrees_c);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetTemperatureThreshold(DeviceHandle handle, TemperatureThreshold threshold,
                                                           unsigned* degrees_c) {
  return CallDevice(Function::nvmlDeviceGetTemperatureThreshold, handle, [&](Model&, Device& device) {
    const auto number = static_cast<unsigned>(threshold);
    if (number > nvml::kThresholdGpuMax) return nvml::kInvalidArgument;
    if (device.thresholds_c[number] == 0) return nvml::kNotSupported;
    return Give(device.thresholds_c[number], degrees_c);
  });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetUtilizationRates(DeviceHandle handle, Utilization* utilization) {
  return CallDevice(Function::nvmlDeviceGetUtilizationRates, handle, [&](Model&, Device& device) {
    if (device.mig == Mig::kEnabled) return nvml::kNotSupported;
    const unsigned load = ReadSensors(device).load;
    Utilization rates{.gpu = load, .memory = load / 2};
    if (device.utilization_gpu != kDerived) rates.gpu = static_cast<unsigned>(device.utilization_gpu);
    if (device.utilization_memory != kDerived) rates.memory = static_cast<unsigned>(device.utilization_memory);
    return Give(rates, utilization);
  });
}
