#include "daemon/rpc/messages/device_message.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "daemon/devices/neuron/neuron_device.h"
#include "daemon/devices/nvidia/nvidia_facts.h"
#include "daemon/devices/peaks/device_peaks.h"
#include "daemon/devices/peaks/peak_scaling.h"
#include "kprof/v1/devices.pb.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

// The counts of a Neuron device. An absent one stays absent; a number below 0 is no count.
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

void FillNeuronFacts(const NeuronDevice& device, v1::NeuronFacts& out) {
  using Facts = v1::NeuronFacts;
  out.set_index(static_cast<uint32_t>(std::max(device.index, 0)));
  out.set_chip(device.chip);
  out.set_chip_source(ReadableText(device.chip_source));
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

using PeakList = google::protobuf::RepeatedPtrField<v1::Peak>;

DriverFacts DriverFactsOf(const NvidiaIdentity& identity) {
  DriverFacts facts;
  if (!identity.compute_capability.empty()) facts.compute_capability = identity.compute_capability;
  facts.core_count = identity.sm_count;
  facts.memory_bytes = identity.memory_bytes;
  facts.memory_bus_bits = identity.memory_bus_bits;
  facts.max_memory_mhz = identity.max_memory_mhz;
  return facts;
}

DevicePeaks PeaksOfKind(const Device& device, const DeviceFacts& facts, const PeakTable& table) {
  const std::string& chip = facts.neuron && !facts.neuron->chip.empty() ? facts.neuron->chip : device.name;
  const DevicePeaks* known = table.Find(device.kind, facts.nvidia ? facts.nvidia->name : chip);
  return known == nullptr ? DevicePeaks() : *known;
}

MigShare ShareOf(const MigInstance& instance, const NvidiaIdentity& device) {
  MigShare share{instance.sm_count, instance.gpu_slices, instance.compute_slices, instance.memory_bytes, {}};
  if (instance.memory_bytes && device.memory_bytes) {
    share.memory_slices = MemorySlicesOf(*instance.memory_bytes, *device.memory_bytes);
  }
  return share;
}

void FillList(const DevicePeaks& peaks, PeakList& out) {
  for (const Peak& peak : peaks.peaks) FillPeak(peak, *out.Add());
}

// The peaks of the part, or why it has none.
template <typename Part>
void FillPart(const DevicePeaks& whole, const Part& scale, PeakList& out, std::string& why_none) {
  if (whole.vendor.empty()) {
    why_none = "those of the device are not known";
    return;
  }
  const Result<DevicePeaks> part = scale();
  if (part.ok()) return FillList(*part, out);
  why_none = ReadableText(part.status().why());
}

}  // namespace

DevicePeaks PeaksOf(const Device& device, const DeviceFacts& facts, const PeakTable& table,
                    const std::vector<MeasuredCeiling>& ceilings) {
  DevicePeaks peaks = PeaksOfKind(device, facts, table);
  if (facts.nvidia) {
    Result<DevicePeaks> at_hand = WithDriverFacts(peaks, DriverFactsOf(*facts.nvidia));
    // The name has led to another device's: what its own driver says stays.
    if (!at_hand.ok()) at_hand = WithDriverFacts(DevicePeaks(), DriverFactsOf(*facts.nvidia));
    if (at_hand.ok()) peaks = *std::move(at_hand);
  }
  for (const MeasuredCeiling& ceiling : ceilings) {
    Result<DevicePeaks> with = WithMeasuredCeiling(peaks, ceiling);
    if (with.ok()) peaks = *std::move(with);
  }
  return peaks;
}

void FillPeak(const Peak& peak, v1::Peak& out) {
  out.set_quantity(peak.quantity);
  out.set_dtype(peak.dtype);
  out.set_accumulate(peak.accumulate);
  out.set_value(peak.value);
  out.set_unit(peak.unit);
  out.set_confidence(std::string(PeakConfidenceName(peak.confidence)));
  out.set_origin(std::string(PeakOriginName(peak.origin)));
  out.set_source(peak.source);
  out.set_note(peak.note);
}

void FillPeaks(const DevicePeaks& peaks, const DeviceFacts& facts, v1::Device& out) {
  FillList(peaks, *out.mutable_peaks());
  if (facts.nvidia && facts.nvidia_state) {
    const std::vector<MigInstance>& instances = facts.nvidia_state->mig_instances;
    for (int i = 0; i < out.nvidia().mig_instances_size() && i < static_cast<int>(instances.size()); ++i) {
      v1::MigInstance& message = *out.mutable_nvidia()->mutable_mig_instances(i);
      const MigShare share = ShareOf(instances[static_cast<size_t>(i)], *facts.nvidia);
      FillPart(
          peaks, [&] { return ScaledToMig(peaks, share); }, *message.mutable_peaks(), *message.mutable_no_peaks());
    }
  }
  if (facts.neuron && out.has_neuron()) {
    v1::NeuronFacts& message = *out.mutable_neuron();
    FillPart(
        peaks,
        [&] {
          return ScaledToCores(peaks, {1, facts.neuron->lnc.value_or(1)});
        },
        *message.mutable_core_peaks(), *message.mutable_no_core_peaks());
  }
}

namespace {

// What is absent stays so.
template <typename T, typename Message, typename V>
void Set(const std::optional<T>& value, Message& out, void (Message::*set)(V)) {
  if (value) (out.*set)(*value);
}

void FillIdentity(const NvidiaIdentity& identity, v1::NvidiaFacts& out) {
  out.set_serial(ReadableText(identity.serial));
  out.set_pci(ReadableText(identity.pci));
  out.set_architecture(identity.architecture);
  out.set_compute_capability(identity.compute_capability);
  out.set_vbios(ReadableText(identity.vbios));
  out.set_driver_version(ReadableText(identity.driver_version));
  out.set_nvml_version(ReadableText(identity.nvml_version));
  out.set_cuda_version(identity.cuda_version);
  using Facts = v1::NvidiaFacts;
  Set(identity.minor_number, out, &Facts::set_minor_number);
  Set(identity.cuda_cores, out, &Facts::set_cuda_cores);
  Set(identity.sm_count, out, &Facts::set_sm_count);
  Set(identity.memory_bus_bits, out, &Facts::set_memory_bus_bits);
  Set(identity.memory_bytes, out, &Facts::set_memory_bytes);
  Set(identity.max_sm_mhz, out, &Facts::set_max_sm_mhz);
  Set(identity.max_memory_mhz, out, &Facts::set_max_memory_mhz);
  Set(identity.default_application_sm_mhz, out, &Facts::set_default_application_sm_mhz);
  Set(identity.default_application_memory_mhz, out, &Facts::set_default_application_memory_mhz);
  Set(identity.default_power_mw, out, &Facts::set_default_power_mw);
  Set(identity.least_power_mw, out, &Facts::set_least_power_mw);
  Set(identity.most_power_mw, out, &Facts::set_most_power_mw);
  Set(identity.slowdown_c, out, &Facts::set_slowdown_c);
  Set(identity.shutdown_c, out, &Facts::set_shutdown_c);
  Set(identity.most_gpu_c, out, &Facts::set_most_gpu_c);
  for (const uint32_t mhz : identity.sm_clocks_mhz) out.add_sm_clocks_mhz(mhz);
  for (const uint32_t mhz : identity.memory_clocks_mhz) out.add_memory_clocks_mhz(mhz);
  for (const NvLink& link : identity.nvlinks) {
    v1::NvLink& message = *out.add_nvlinks();
    message.set_number(link.number);
    message.set_active(link.active);
    message.set_remote_pci(ReadableText(link.remote_pci));
  }
}

void FillInstances(const std::vector<MigInstance>& instances, v1::NvidiaFacts& out) {
  using Message = v1::MigInstance;
  for (const MigInstance& instance : instances) {
    Message& message = *out.add_mig_instances();
    message.set_uuid(ReadableText(instance.uuid));
    Set(instance.gpu_instance, message, &Message::set_gpu_instance);
    Set(instance.compute_instance, message, &Message::set_compute_instance);
    Set(instance.sm_count, message, &Message::set_sm_count);
    Set(instance.gpu_slices, message, &Message::set_gpu_slices);
    Set(instance.compute_slices, message, &Message::set_compute_slices);
    Set(instance.memory_bytes, message, &Message::set_memory_bytes);
  }
}

void FillState(const NvidiaState& state, v1::NvidiaFacts& out) {
  using Facts = v1::NvidiaFacts;
  Set(state.memory_used_bytes, out, &Facts::set_memory_used_bytes);
  Set(state.mig, out, &Facts::set_mig);
  FillInstances(state.mig_instances, out);
  Set(state.persistence, out, &Facts::set_persistence);
  Set(state.ecc, out, &Facts::set_ecc);
  Set(state.ecc_corrected, out, &Facts::set_ecc_corrected);
  Set(state.ecc_uncorrected, out, &Facts::set_ecc_uncorrected);
  Set(state.application_sm_mhz, out, &Facts::set_application_sm_mhz);
  Set(state.application_memory_mhz, out, &Facts::set_application_memory_mhz);
  Set(state.power_limit_mw, out, &Facts::set_power_limit_mw);
  Set(state.enforced_power_limit_mw, out, &Facts::set_enforced_power_limit_mw);
  Set(state.energy_mj, out, &Facts::set_energy_mj);
  out.set_tells_processes(state.processes.has_value());
  if (!state.processes) return;
  for (const NvidiaProcess& process : *state.processes) {
    v1::DeviceProcess& message = *out.add_processes();
    message.set_pid(process.pid);
    message.set_graphics(process.graphics);
    Set(process.memory_bytes, message, &v1::DeviceProcess::set_memory_bytes);
  }
}

void FillSample(const NvidiaSample& sample, v1::NvidiaFacts& out) {
  using Facts = v1::NvidiaFacts;
  Set(sample.sm_mhz, out, &Facts::set_sm_mhz);
  Set(sample.memory_mhz, out, &Facts::set_memory_mhz);
  Set(sample.power_mw, out, &Facts::set_power_mw);
  Set(sample.temperature_c, out, &Facts::set_temperature_c);
  Set(sample.gpu_percent, out, &Facts::set_gpu_percent);
  Set(sample.memory_percent, out, &Facts::set_memory_percent);
  for (std::string& name : ClockReasonNames(sample.reasons.value_or(0))) out.add_clock_reasons(std::move(name));
}

}  // namespace

void FillDeviceHealth(const DeviceFacts& facts, v1::Device& out) {
  out.set_health(std::string(DeviceHealthName(facts.health)));
  out.set_trouble(ReadableText(facts.trouble.why()));
  out.set_remedy(ReadableText(facts.trouble.remedy()));
}

void FillDeviceFacts(const DeviceFacts& facts, v1::Device& out) {
  if (facts.kind == DeviceKind::kNeuron) out.mutable_clocks()->set_lockable(false);
  if (facts.neuron) FillNeuronFacts(*facts.neuron, *out.mutable_neuron());
  if (!facts.nvidia) return;
  v1::NvidiaFacts& message = *out.mutable_nvidia();
  FillIdentity(*facts.nvidia, message);
  if (facts.nvidia_state) FillState(*facts.nvidia_state, message);
  if (facts.nvidia_sample) FillSample(*facts.nvidia_sample, message);
}

}  // namespace kprof
