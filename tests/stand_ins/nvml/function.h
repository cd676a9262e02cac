// The functions of NVML that the stand-in has, by their newest names. Whoever counts calls, writes them down or lets
// them fail means one of these.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kprof::nvml_stand_in {

#define KPROF_NVML_FUNCTIONS(X)                   \
  X(nvmlInit_v2)                                  \
  X(nvmlShutdown)                                 \
  X(nvmlSystemGetDriverVersion)                   \
  X(nvmlSystemGetNVMLVersion)                     \
  X(nvmlSystemGetCudaDriverVersion_v2)            \
  X(nvmlDeviceGetCount_v2)                        \
  X(nvmlDeviceGetHandleByIndex_v2)                \
  X(nvmlDeviceGetHandleByUUID)                    \
  X(nvmlDeviceGetUUID)                            \
  X(nvmlDeviceGetName)                            \
  X(nvmlDeviceGetSerial)                          \
  X(nvmlDeviceGetPciInfo_v3)                      \
  X(nvmlDeviceGetMinorNumber)                     \
  X(nvmlDeviceGetArchitecture)                    \
  X(nvmlDeviceGetCudaComputeCapability)           \
  X(nvmlDeviceGetVbiosVersion)                    \
  X(nvmlDeviceGetNumGpuCores)                     \
  X(nvmlDeviceGetMemoryBusWidth)                  \
  X(nvmlDeviceGetMemoryInfo)                      \
  X(nvmlDeviceGetMigMode)                         \
  X(nvmlDeviceGetMaxMigDeviceCount)               \
  X(nvmlDeviceGetMigDeviceHandleByIndex)          \
  X(nvmlDeviceGetGpuInstanceId)                   \
  X(nvmlDeviceGetComputeInstanceId)               \
  X(nvmlDeviceGetAttributes_v2)                   \
  X(nvmlDeviceGetPersistenceMode)                 \
  X(nvmlDeviceSetPersistenceMode)                 \
  X(nvmlDeviceGetEccMode)                         \
  X(nvmlDeviceGetTotalEccErrors)                  \
  X(nvmlDeviceGetClockInfo)                       \
  X(nvmlDeviceGetMaxClockInfo)                    \
  X(nvmlDeviceGetSupportedMemoryClocks)           \
  X(nvmlDeviceGetSupportedGraphicsClocks)         \
  X(nvmlDeviceGetApplicationsClock)               \
  X(nvmlDeviceGetDefaultApplicationsClock)        \
  X(nvmlDeviceSetApplicationsClocks)              \
  X(nvmlDeviceResetApplicationsClocks)            \
  X(nvmlDeviceSetGpuLockedClocks)                 \
  X(nvmlDeviceResetGpuLockedClocks)               \
  X(nvmlDeviceSetMemoryLockedClocks)              \
  X(nvmlDeviceResetMemoryLockedClocks)            \
  X(nvmlDeviceGetCurrentClocksEventReasons)       \
  X(nvmlDeviceGetPowerUsage)                      \
  X(nvmlDeviceGetPowerManagementLimit)            \
  X(nvmlDeviceGetPowerManagementDefaultLimit)     \
  X(nvmlDeviceGetEnforcedPowerLimit)              \
  X(nvmlDeviceGetPowerManagementLimitConstraints) \
  X(nvmlDeviceSetPowerManagementLimit)            \
  X(nvmlDeviceGetTotalEnergyConsumption)          \
  X(nvmlDeviceGetTemperature)                     \
  X(nvmlDeviceGetTemperatureThreshold)            \
  X(nvmlDeviceGetUtilizationRates)                \
  X(nvmlDeviceGetComputeRunningProcesses_v3)      \
  X(nvmlDeviceGetGraphicsRunningProcesses_v3)     \
  X(nvmlDeviceGetNvLinkState)                     \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2)          \
  X(nvmlDeviceGetSupportedEventTypes)             \
  X(nvmlEventSetCreate)                           \
  X(nvmlDeviceRegisterEvents)                     \
  X(nvmlEventSetWait_v2)                          \
  X(nvmlEventSetFree)

// The enumerators are the functions' own names, so that a search for one finds all of it.
enum class Function : uint32_t {
#define KPROF_NVML_ENUMERATOR(name) name,
  KPROF_NVML_FUNCTIONS(KPROF_NVML_ENUMERATOR)
#undef KPROF_NVML_ENUMERATOR
      kCount
};
constexpr unsigned kFunctionCount = static_cast<unsigned>(Function::kCount);

const char* FunctionName(Function function);

// Also by a name without its version: nvmlDeviceGetCount is nvmlDeviceGetCount_v2.
std::optional<Function> FindFunction(std::string_view name);

}  // namespace kprof::nvml_stand_in
