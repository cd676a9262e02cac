#include "daemon/rpc/messages/device_message.h"

#include <optional>
#include <string>

#include "daemon/devices/nvidia/clock_reasons.h"
#include "daemon/rpc/messages/neuron_message.h"
#include "storage/base/readable_text.h"

namespace kprof {
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
