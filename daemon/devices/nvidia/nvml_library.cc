#include "daemon/devices/nvidia/nvml_library.h"

#include <dlfcn.h>

#include <initializer_list>
#include <utility>

namespace kprof {
namespace {

void FindAll(void* library, nvml::Functions& functions) {
  // The first of these names that it has.
  const auto find = [library]<typename F>(F*& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      function = reinterpret_cast<F*>(::dlsym(library, name));
      if (function != nullptr) return;
    }
  };
  find(functions.init, {"nvmlInit_v2", "nvmlInit"});
  find(functions.shutdown, {"nvmlShutdown"});
  find(functions.driver_version, {"nvmlSystemGetDriverVersion"});
  find(functions.nvml_version, {"nvmlSystemGetNVMLVersion"});
  find(functions.cuda_driver_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"});
  find(functions.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  find(functions.handle_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  find(functions.handle_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  find(functions.uuid, {"nvmlDeviceGetUUID"});
  find(functions.name, {"nvmlDeviceGetName"});
  find(functions.serial, {"nvmlDeviceGetSerial"});
  find(functions.pci_info, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2"});
  find(functions.minor_number, {"nvmlDeviceGetMinorNumber"});
  find(functions.architecture, {"nvmlDeviceGetArchitecture"});
  find(functions.compute_capability, {"nvmlDeviceGetCudaComputeCapability"});
  find(functions.vbios_version, {"nvmlDeviceGetVbiosVersion"});
  find(functions.gpu_cores, {"nvmlDeviceGetNumGpuCores"});
  find(functions.memory_bus_width, {"nvmlDeviceGetMemoryBusWidth"});
  find(functions.memory_info, {"nvmlDeviceGetMemoryInfo"});
  find(functions.mig_mode, {"nvmlDeviceGetMigMode"});
  find(functions.most_mig_devices, {"nvmlDeviceGetMaxMigDeviceCount"});
  find(functions.mig_handle, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  find(functions.gpu_instance_id, {"nvmlDeviceGetGpuInstanceId"});
  find(functions.compute_instance_id, {"nvmlDeviceGetComputeInstanceId"});
  find(functions.attributes, {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"});
  find(functions.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  find(functions.set_persistence_mode, {"nvmlDeviceSetPersistenceMode"});
  find(functions.ecc_mode, {"nvmlDeviceGetEccMode"});
  find(functions.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find(functions.clock, {"nvmlDeviceGetClockInfo"});
  find(functions.max_clock, {"nvmlDeviceGetMaxClockInfo"});
  find(functions.memory_clocks, {"nvmlDeviceGetSupportedMemoryClocks"});
  find(functions.graphics_clocks, {"nvmlDeviceGetSupportedGraphicsClocks"});
  find(functions.application_clock, {"nvmlDeviceGetApplicationsClock"});
  find(functions.default_application_clock, {"nvmlDeviceGetDefaultApplicationsClock"});
  find(functions.set_application_clocks, {"nvmlDeviceSetApplicationsClocks"});
  find(functions.reset_application_clocks, {"nvmlDeviceResetApplicationsClocks"});
  find(functions.lock_gpu_clocks, {"nvmlDeviceSetGpuLockedClocks"});
  find(functions.reset_gpu_clocks, {"nvmlDeviceResetGpuLockedClocks"});
  find(functions.lock_memory_clocks, {"nvmlDeviceSetMemoryLockedClocks"});
  find(functions.reset_memory_clocks, {"nvmlDeviceResetMemoryLockedClocks"});
  find(functions.event_reasons,
       {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  find(functions.power_usage, {"nvmlDeviceGetPowerUsage"});
  find(functions.power_limit, {"nvmlDeviceGetPowerManagementLimit"});
  find(functions.default_power_limit, {"nvmlDeviceGetPowerManagementDefaultLimit"});
  find(functions.enforced_power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  find(functions.power_limit_range, {"nvmlDeviceGetPowerManagementLimitConstraints"});
  find(functions.set_power_limit, {"nvmlDeviceSetPowerManagementLimit"});
  find(functions.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  find(functions.temperature, {"nvmlDeviceGetTemperature"});
  find(functions.temperature_threshold, {"nvmlDeviceGetTemperatureThreshold"});
  find(functions.utilization, {"nvmlDeviceGetUtilizationRates"});
  find(functions.compute_processes,
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  find(functions.graphics_processes,
       {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  find(functions.nvlink_state, {"nvmlDeviceGetNvLinkState"});
  find(functions.nvlink_remote_pci, {"nvmlDeviceGetNvLinkRemotePciInfo_v2"});
  find(functions.supported_events, {"nvmlDeviceGetSupportedEventTypes"});
  find(functions.create_event_set, {"nvmlEventSetCreate"});
  find(functions.register_events, {"nvmlDeviceRegisterEvents"});
  find(functions.wait_for_event, {"nvmlEventSetWait_v2"});
  find(functions.free_event_set, {"nvmlEventSetFree"});
}

// Without these nothing can be said of a device.
bool IsComplete(const nvml::Functions& functions) {
  return functions.init != nullptr && functions.shutdown != nullptr && functions.device_count != nullptr &&
         functions.handle_by_index != nullptr && functions.uuid != nullptr && functions.name != nullptr;
}

}  // namespace

Result<NvmlLibrary> NvmlLibrary::Open(const std::string& path) {
  const std::string name = path.empty() ? kUsualName : path;
  const std::string act = "open " + name;
  NvmlLibrary library;
  library.handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* why = ::dlerror();
    return Fail(ErrorCode::kNotFound, act, why == nullptr ? "it cannot be loaded" : why,
                "where there is an NVIDIA GPU, install its driver");
  }
  FindAll(library.handle_, library.functions_);
  if (!IsComplete(library.functions_)) {
    return Fail(ErrorCode::kToolFailed, act, "it lacks functions that every version of NVML has",
                "check what KPROF_NVML_LIBRARY or [devices] nvml_library names");
  }
  const nvml::Return begun = library.functions_.init();
  if (begun == nvml::kSuccess) return library;
  // Not begun: there is nothing to end.
  library.functions_.shutdown = nullptr;
  if (begun == nvml::kDriverNotLoaded || begun == nvml::kLibraryNotFound || begun == nvml::kGpuNotFound) {
    const NvmlFailure failure = NvmlFailureOf(begun);
    return Fail(ErrorCode::kNotFound, act, failure.why, failure.remedy);
  }
  return NvmlStatus(begun, act);
}

NvmlLibrary::NvmlLibrary(NvmlLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), functions_(std::exchange(other.functions_, {})) {}

NvmlLibrary::~NvmlLibrary() {
  if (functions_.shutdown != nullptr) functions_.shutdown();
  if (handle_ != nullptr) ::dlclose(handle_);
}

bool IsLost(nvml::Return returned) {
  return returned == nvml::kGpuIsLost || returned == nvml::kResetRequired || returned == nvml::kGpuNotFound ||
         returned == nvml::kUninitialized || returned == nvml::kDriverNotLoaded;
}

NvmlFailure NvmlFailureOf(nvml::Return returned) {
  switch (returned) {
    case nvml::kSuccess:
      return {"it worked", ""};
    case nvml::kUninitialized:
      return {"the library was not initialised", "report it: that is a mistake of kprof's"};
    case nvml::kInvalidArgument:
      return {"the driver does not take this value", "ask for one that kprofctl devices lists"};
    case nvml::kNotSupported:
      return {"this device does not support it", "go on without it"};
    case nvml::kNoPermission:
      return {"no permission", "run kprofd as root, or in system mode with its helper"};
    case nvml::kNotFound:
    case nvml::kGpuNotFound:
      return {"the device is not there", "see with nvidia-smi whether the driver still has it"};
    case nvml::kInsufficientSize:
      return {"the answer does not fit", "report it: that is a mistake of kprof's"};
    case nvml::kInsufficientPower:
      return {"the device lacks external power", "check its power cables"};
    case nvml::kDriverNotLoaded:
      return {"the driver is not loaded", "load it: modprobe nvidia"};
    case nvml::kTimeout:
      return {"the driver did not answer in its time", "see dmesg for what the driver says (Xid)"};
    case nvml::kIrqIssue:
      return {"the driver has a problem with the device's interrupts", "see dmesg for what the driver says"};
    case nvml::kLibraryNotFound:
      return {"the driver's library was not found", "install the driver whole"};
    case nvml::kFunctionNotFound:
      return {"this driver does not have it", "use a newer driver"};
    case nvml::kCorruptedInforom:
      return {"the device's own memory (infoROM) is corrupted", "the device wants service"};
    case nvml::kGpuIsLost:
      return {"the device is lost: it has fallen off the bus", "see dmesg (Xid 79); the node wants a reboot"};
    case nvml::kResetRequired:
      return {"the device wants a reset", "nvidia-smi --gpu-reset, when nobody uses it"};
    case nvml::kOperatingSystem:
      return {"the system blocks the device, a cgroup say", "allow kprofd the device's file in /dev"};
    case nvml::kLibRmVersionMismatch:
      return {"the library is of another version than the loaded driver",
              "reboot, or load the driver that is installed"};
    case nvml::kInUse:
      return {"the device is in use", "try again when nobody uses it"};
    case nvml::kMemory:
      return {"there is not enough memory", "try again later"};
    case nvml::kNoData:
      return {"there is no data", "try again later"};
    case nvml::kVgpuEccNotSupported:
      return {"a virtual GPU has no ECC", "go on without it"};
    case nvml::kInsufficientResources:
      return {"the device lacks the resources for it", "try again later"};
    case nvml::kFreqNotSupported:
      return {"the device does not have this frequency", "ask for one that kprofctl devices lists"};
    case nvml::kArgumentVersionMismatch:
      return {"the driver has another version of it", "report it, with the driver's version"};
    case nvml::kDeprecated:
      return {"this driver does not have it any more", "go on without it"};
    case nvml::kNotReady:
      return {"the driver is not ready", "try again later"};
    case nvml::kInvalidState:
      return {"the driver is in a state that does not allow it", "try again later"};
    case nvml::kUnknown:
      break;
  }
  return {"the driver failed with code " + std::to_string(static_cast<int>(returned)),
          "see dmesg for what the driver says"};
}

Status NvmlStatus(nvml::Return returned, const std::string& act) {
  if (returned == nvml::kSuccess) return OkStatus();
  ErrorCode code = ErrorCode::kToolFailed;
  if (returned == nvml::kNoPermission || returned == nvml::kOperatingSystem) code = ErrorCode::kNotPermitted;
  if (returned == nvml::kNotFound || IsLost(returned)) code = ErrorCode::kNotFound;
  if (returned == nvml::kInvalidArgument || returned == nvml::kFreqNotSupported) code = ErrorCode::kUsage;
  if (returned == nvml::kNotSupported || returned == nvml::kFunctionNotFound || returned == nvml::kDeprecated) {
    code = ErrorCode::kToolMissing;
  }
  const NvmlFailure failure = NvmlFailureOf(returned);
  return Fail(code, act, failure.why, failure.remedy);
}

}  // namespace kprof
