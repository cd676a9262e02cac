#include "daemon/rpc/messages/neuron_message.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// What is absent stays so; what is below 0 is none of these counts.
template <typename T, typename Message, typename V>
void SetNeuron(const std::optional<T>& value, Message& out, void (Message::*set)(V)) {
  if (value && *value >= 0) (out.*set)(static_cast<V>(*value));
}

uint32_t PidOf(int64_t pid) {
  return pid < 0 || pid > std::numeric_limits<uint32_t>::max() ? 0 : static_cast<uint32_t>(pid);
}

void FillCores(const NeuronDevice& device, v1::NeuronFacts& out) {
  using Message = v1::NeuronCore;
  for (const NeuronLogicalCore& core : device.cores) {
    Message& message = *out.add_cores();
    message.set_number(static_cast<uint32_t>(std::max(core.number, 0)));
    SetNeuron(core.utilization_percent, message, &Message::set_utilization_percent);
    SetNeuron(core.flops, message, &Message::set_flops);
    SetNeuron(core.memory_bytes, message, &Message::set_memory_bytes);
    for (const int64_t pid : core.pids) message.add_pids(PidOf(pid));
  }
}

void FillProcesses(const NeuronDevice& device, v1::NeuronFacts& out) {
  for (const NeuronProcess& process : device.processes) {
    v1::NeuronProcess& message = *out.add_processes();
    message.set_pid(PidOf(process.pid));
    message.set_command(ReadableText(process.command));
    message.set_runtime_version(ReadableText(process.runtime_version.value_or("")));
  }
  using Message = v1::NeuronRuntime;
  for (const NeuronRuntimeUse& runtime : device.runtimes) {
    Message& message = *out.add_runtimes();
    message.set_pid(PidOf(runtime.pid));
    message.set_tag(ReadableText(runtime.tag));
    SetNeuron(runtime.completed, message, &Message::set_completed);
    SetNeuron(runtime.failed, message, &Message::set_failed);
    SetNeuron(runtime.errors, message, &Message::set_errors);
    SetNeuron(runtime.p50_latency_s, message, &Message::set_p50_latency_s);
    SetNeuron(runtime.p99_latency_s, message, &Message::set_p99_latency_s);
    SetNeuron(runtime.memory_bytes, message, &Message::set_memory_bytes);
    SetNeuron(runtime.host_bytes, message, &Message::set_host_bytes);
  }
}

void FillErrors(const NeuronDevice& device, v1::NeuronFacts& out) {
  using Facts = v1::NeuronFacts;
  SetNeuron(device.ecc.mem_corrected, out, &Facts::set_memory_corrected);
  SetNeuron(device.ecc.mem_uncorrected, out, &Facts::set_memory_uncorrected);
  SetNeuron(device.ecc.mem_repairable_uncorrected, out, &Facts::set_memory_repairable_uncorrected);
  SetNeuron(device.ecc.sram_corrected, out, &Facts::set_sram_corrected);
  SetNeuron(device.ecc.sram_uncorrected, out, &Facts::set_sram_uncorrected);
  SetNeuron(device.execution_errors, out, &Facts::set_execution_errors);
  for (const std::string& component : device.unhealthy_components) {
    out.add_unhealthy_components(ReadableText(component));
  }
}

}  // namespace

void FillNeuronFacts(const NeuronDevice& device, v1::NeuronFacts& out) {
  using Facts = v1::NeuronFacts;
  out.set_index(static_cast<uint32_t>(std::max(device.index, 0)));
  out.set_chip(device.chip);
  out.set_core_version(device.core_version);
  out.set_instance_type(ReadableText(device.instance_type.value_or("")));
  out.set_serial(ReadableText(device.serial_number.value_or("")));
  out.set_pci(ReadableText(device.bdf.value_or("")));
  out.set_driver_version(ReadableText(device.driver_version.value_or("")));
  out.set_clock_control(kNeuronClockControl);
  out.set_cpu_affinity(ReadableText(device.cpu_affinity.value_or("")));
  if (device.numa_node) out.set_numa_node(*device.numa_node);
  for (const int other : device.connected) out.add_connected(static_cast<uint32_t>(std::max(other, 0)));
  SetNeuron(device.physical_cores, out, &Facts::set_physical_cores);
  SetNeuron(device.lnc, out, &Facts::set_lnc);
  FillCores(device, out);
  SetNeuron(device.memory_bytes, out, &Facts::set_memory_bytes);
  SetNeuron(device.memory_used_bytes, out, &Facts::set_memory_used_bytes);
  FillProcesses(device, out);
  FillErrors(device, out);
  if (device.power) {
    SetNeuron(device.power->min_percent, out, &Facts::set_power_min_percent);
    SetNeuron(device.power->max_percent, out, &Facts::set_power_max_percent);
    SetNeuron(device.power->mean_percent, out, &Facts::set_power_mean_percent);
    if (device.power->sampled_unix_s) out.set_power_unix_s(*device.power->sampled_unix_s);
  }
  for (const std::string& note : device.notes) out.add_notes(ReadableText(note));
}

}  // namespace kprof
