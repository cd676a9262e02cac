// NVML: memory, and the processes that use it.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/stand_ins/nvml/library/call.h"
#include "tests/stand_ins/nvml/library/export.h"
#include "tests/stand_ins/nvml/library/give.h"

using kprof::nvml::DeviceHandle;
using kprof::nvml::Memory;
using kprof::nvml::ProcessInfo;
using kprof::nvml::Return;
using kprof::nvml_stand_in::CallDeviceOrInstance;
using kprof::nvml_stand_in::Device;
using kprof::nvml_stand_in::Function;
using kprof::nvml_stand_in::Give;
using kprof::nvml_stand_in::kNoInstance;
using kprof::nvml_stand_in::Mig;
using kprof::nvml_stand_in::MigInstance;
using kprof::nvml_stand_in::Model;
using kprof::nvml_stand_in::Process;
namespace nvml = kprof::nvml;

namespace {

bool IsIn(const Process& process, const MigInstance* instance) {
  return instance == nullptr || (process.gpu_instance_id == instance->gpu_instance_id &&
                                 process.compute_instance_id == instance->compute_instance_id);
}

std::vector<ProcessInfo> ProcessesOf(const Device& device, const MigInstance* instance, bool is_graphics) {
  std::vector<ProcessInfo> infos;
  for (unsigned i = 0; i < device.process_count; ++i) {
    const Process& process = device.processes[i];
    if (process.is_graphics != is_graphics || !IsIn(process, instance)) continue;
    const bool has_instances = device.mig == Mig::kEnabled;
    infos.push_back({.pid = process.pid,
                     .used_gpu_memory = process.used_bytes,
                     .gpu_instance_id = has_instances ? process.gpu_instance_id : kNoInstance,
                     .compute_instance_id = has_instances ? process.compute_instance_id : kNoInstance});
  }
  return infos;
}

// Drivers of 530 and 535 wrote, by the same name, entries that end with another 8 bytes: entry_bytes says which.
Return GiveProcesses(const std::vector<ProcessInfo>& infos, unsigned entry_bytes, unsigned* count, ProcessInfo* into) {
  if (count == nullptr) return nvml::kInvalidArgument;
  const unsigned room = *count;
  *count = static_cast<unsigned>(infos.size());
  if (room < infos.size()) return nvml::kInsufficientSize;
  if (infos.empty()) return nvml::kSuccess;
  if (into == nullptr) return nvml::kInvalidArgument;
  char* at = reinterpret_cast<char*>(into);
  for (const ProcessInfo& info : infos) {
    std::memset(at, 0, entry_bytes);
    std::memcpy(at, &info, sizeof(info));
    at += entry_bytes;
  }
  return nvml::kSuccess;
}

Return Processes(Function function, DeviceHandle handle, bool is_graphics, bool may_be_longer, unsigned* count,
                 ProcessInfo* infos) {
  return CallDeviceOrInstance(function, handle, [&](Model& model, Device& device, const MigInstance* instance) {
    const unsigned entry_bytes = may_be_longer ? model.process_entry_bytes : sizeof(ProcessInfo);
    return GiveProcesses(ProcessesOf(device, instance, is_graphics), entry_bytes, count, infos);
  });
}

}  // namespace

KPROF_NVML_EXPORT Return nvmlDeviceGetMemoryInfo(DeviceHandle handle, Memory* memory) {
  return CallDeviceOrInstance(
      Function::nvmlDeviceGetMemoryInfo, handle, [&](Model&, Device& device, const MigInstance* instance) {
        const uint64_t total = instance != nullptr ? instance->memory_mb << 20 : device.memory_total_bytes;
        uint64_t used = instance != nullptr ? 0 : device.memory_reserved_bytes;
        for (unsigned i = 0; i < device.process_count; ++i) {
          const Process& process = device.processes[i];
          if (process.used_bytes == nvml::kValueNotAvailable) continue;
          if (IsIn(process, instance)) used += process.used_bytes;
        }
        used = std::min(used, total);
        return Give(Memory{.total = total, .free = total - used, .used = used}, memory);
      });
}

KPROF_NVML_EXPORT Return nvmlDeviceGetComputeRunningProcesses_v3(DeviceHandle handle, unsigned* count,
                                                                 ProcessInfo* infos) {
  return Processes(Function::nvmlDeviceGetComputeRunningProcesses_v3, handle, false, true, count, infos);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetComputeRunningProcesses_v2(DeviceHandle handle, unsigned* count,
                                                                 ProcessInfo* infos) {
  return Processes(Function::nvmlDeviceGetComputeRunningProcesses_v3, handle, false, false, count, infos);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v3(DeviceHandle handle, unsigned* count,
                                                                  ProcessInfo* infos) {
  return Processes(Function::nvmlDeviceGetGraphicsRunningProcesses_v3, handle, true, true, count, infos);
}

KPROF_NVML_EXPORT Return nvmlDeviceGetGraphicsRunningProcesses_v2(DeviceHandle handle, unsigned* count,
                                                                  ProcessInfo* infos) {
  return Processes(Function::nvmlDeviceGetGraphicsRunningProcesses_v3, handle, true, false, count, infos);
}
