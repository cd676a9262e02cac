// Keys for what goes on with a device: who uses it, how much, how hot it is, whether it is there at all.
#include <algorithm>

#include "tests/stand_ins/nvml/command_list.h"
#include "tests/stand_ins/nvml/readings.h"

namespace kprof::nvml_stand_in {
namespace {

void SetLoad(Device& device, Words& words) {
  const unsigned load = words.Small("the percent", 0, 100);
  if (!words.Wrong().empty()) return;
  device.load = load;
  device.load_of_pid = 0;
}

void SetLoadOf(Device& device, Words& words) {
  const unsigned pid = words.Take("none") ? 0 : words.Small("a pid", 1, INT32_MAX);
  if (words.Wrong().empty()) device.load_of_pid = static_cast<int32_t>(pid);
}

void SetUtilization(Device& device, Words& words) {
  int gpu = kDerived;
  int memory = kDerived;
  if (!words.Take("derived")) {
    gpu = static_cast<int>(words.Small("the percent of the GPU", 0, 100));
    memory = static_cast<int>(words.Small("the percent of the memory", 0, 100));
  }
  if (!words.Wrong().empty()) return;
  device.utilization_gpu = gpu;
  device.utilization_memory = memory;
}

void SetTemperature(Device& device, Words& words) {
  const int temperature_c = words.Take("derived") ? kDerived : static_cast<int>(words.Small("the degrees", 0, 200));
  if (words.Wrong().empty()) device.temperature_c = temperature_c;
}

void SetThreshold(Device& device, Words& words) {
  const unsigned threshold = words.OneOf("the threshold", {"shutdown", "slowdown", "memory_max", "gpu_max"});
  const unsigned degrees_c = words.Take("none") ? 0 : words.Small("the degrees", 1, 200);
  if (words.Wrong().empty()) device.thresholds_c[threshold] = degrees_c;
}

void SetSlowdown(Device& device, Words& words) {
  constexpr uint64_t kReasons[] = {kReasonSwThermal, kReasonHwSlowdown, kReasonHwThermal, kReasonHwPowerBrake};
  const uint64_t reason =
      kReasons[words.OneOf("the reason", {"sw_thermal", "hw_slowdown", "hw_thermal", "hw_power_brake"})];
  const bool is_on = words.OnOff("its state");
  if (!words.Wrong().empty()) return;
  device.scripted_reasons &= ~reason;
  if (is_on) device.scripted_reasons |= reason;
}

void SetPowerModel(Device& device, Words& words) {
  const unsigned idle_mw = words.Small("the idle milliwatts");
  const unsigned full_mw = words.Small("the full milliwatts", idle_mw);
  if (!words.Wrong().empty()) return;
  device.idle_power_mw = idle_mw;
  device.full_power_mw = full_mw;
}

void SetEnergy(Device& device, Words& words) {
  const uint64_t energy_mj = words.Number("the millijoules", 0, UINT64_MAX / 1000);
  if (words.Wrong().empty()) device.energy_uj = energy_mj * 1000;
}

void RemoveProcess(Device& device, unsigned pid) {
  auto* const end = std::remove_if(device.processes, device.processes + device.process_count,
                                   [pid](const Process& process) { return process.pid == pid; });
  device.process_count = static_cast<unsigned>(end - device.processes);
}

void SetProcess(Device& device, Words& words) {
  Process process{};
  process.pid = words.Small("a pid", 1);
  process.used_bytes = words.Take("unknown") ? nvml::kValueNotAvailable : words.Number("the bytes");
  process.is_graphics = words.OneOf("the kind", {"compute", "graphics"}) == 1;
  process.gpu_instance_id = words.more() ? words.Small("the GPU instance") : kNoInstance;
  process.compute_instance_id = words.more() ? words.Small("the compute instance") : kNoInstance;
  if (device.process_count == kMostProcesses) words.Fail("there are all the processes that there can be");
  if (!words.Wrong().empty()) return;
  RemoveProcess(device, process.pid);
  device.processes[device.process_count++] = process;
}

void EndProcess(Device& device, Words& words) {
  const unsigned pid = words.Small("a pid", 1);
  if (words.Wrong().empty()) RemoveProcess(device, pid);
}

void ClearProcesses(Device& device, Words& words) {
  if (words.Wrong().empty()) device.process_count = 0;
}

void SetLost(Device& device, Words& words) {
  const bool is_lost = words.OnOff("its state");
  if (words.Wrong().empty()) device.is_lost = is_lost;
}

void Plug(Device& device, Words& words) {
  if (words.Wrong().empty()) device.is_plugged = true;
}

void Unplug(Device& device, Words& words) {
  if (words.Wrong().empty()) device.is_plugged = false;
}

void SetPermission(Device& device, Words& words) {
  constexpr Permission kPermissions[] = {Permission::kRoot, Permission::kNone, Permission::kAll};
  const Permission permission = kPermissions[words.OneOf("who may", {"root", "none", "all"})];
  if (words.Wrong().empty()) device.permission = permission;
}

constexpr DeviceCommand kCommands[] = {
    {"load", "PERCENT", SetLoad},
    {"load_of", "PID|none (100 while that process is there)", SetLoadOf},
    {"utilization", "GPU MEMORY|derived (percent)", SetUtilization},
    {"temperature_c", "N|derived", SetTemperature},
    {"threshold_c", "shutdown|slowdown|memory_max|gpu_max N|none", SetThreshold},
    {"slowdown", "sw_thermal|hw_slowdown|hw_thermal|hw_power_brake on|off", SetSlowdown},
    {"power_model_mw", "IDLE FULL (full: at full load and the highest clock, without a limit)", SetPowerModel},
    {"energy_mj", "N", SetEnergy},
    {"process", "PID BYTES|unknown compute|graphics [GPU_INSTANCE COMPUTE_INSTANCE]", SetProcess},
    {"process_end", "PID", EndProcess},
    {"processes_clear", "", ClearProcesses},
    {"lost", "1|0 (fallen off the bus)", SetLost},
    {"unplug", "(removed: the indexes of those behind it shift)", Unplug},
    {"plug", "", Plug},
    {"permission", "root|none|all", SetPermission},
};

}  // namespace

std::span<const DeviceCommand> SensorCommands() {
  return kCommands;
}

}  // namespace kprof::nvml_stand_in
