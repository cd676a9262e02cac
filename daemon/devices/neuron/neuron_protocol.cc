#include "daemon/devices/neuron/neuron_protocol.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "storage/base/field_coder.h"

namespace kprof {
namespace {

constexpr FieldLimits kNeuronLimits{.text_bytes = 256, .list_entries = 256};

// With these, and the longest texts, a packet has room for any device.
constexpr size_t kMostSentProcesses = 96;
constexpr size_t kMostSentRuntimes = 96;
constexpr size_t kMostPidsOfCore = 16;
constexpr size_t kMostNotes = 16;

template <typename T>
void Cut(std::vector<T>& list, size_t most) {
  if (list.size() > most) list.erase(list.begin() + static_cast<std::ptrdiff_t>(most), list.end());
}

void CutToRoom(NeuronDevice& device) {
  Cut(device.processes, kMostSentProcesses);
  Cut(device.runtimes, kMostSentRuntimes);
  Cut(device.notes, kMostNotes);
  Cut(device.unhealthy_components, kMostNotes);
  for (NeuronLogicalCore& core : device.cores) Cut(core.pids, kMostPidsOfCore);
}

struct NeuronFields {
  template <typename Coder, typename T>
  static void Visit(Coder& field, T& value) {
    using Type = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Type, NeuronAsk>) {
      field(value.lists);
    } else if constexpr (std::is_same_v<Type, NeuronMonitorFor>) {
      field(value.period_s);
    } else if constexpr (std::is_same_v<Type, NeuronTold>) {
      field(value.devices);
      field(value.has_tree);
      field(value.reported);
      field(value.listing);
      field(value.monitor);
    } else if constexpr (std::is_same_v<Type, NeuronTold::Trouble>) {
      field(value.code);
      field(value.what);
      field(value.why);
      field(value.remedy);
    } else if constexpr (std::is_same_v<Type, NeuronDevice>) {
      VisitDevice(field, value);
    } else if constexpr (std::is_same_v<Type, NeuronLogicalCore>) {
      field(value.number);
      field(value.utilization_percent);
      field(value.flops);
      field(value.memory_bytes);
      field(value.pids);
    } else if constexpr (std::is_same_v<Type, NeuronProcess>) {
      field(value.pid);
      field(value.command);
      field(value.runtime_version);
    } else if constexpr (std::is_same_v<Type, NeuronRuntimeUse>) {
      field(value.pid);
      field(value.tag);
      for (auto* number : {&value.completed, &value.failed, &value.errors, &value.memory_bytes, &value.host_bytes}) {
        field(*number);
      }
      field(value.p50_latency_s);
      field(value.p99_latency_s);
    } else if constexpr (std::is_same_v<Type, NeuronEccCounts>) {
      for (auto* number : {&value.mem_corrected, &value.mem_uncorrected, &value.mem_repairable_uncorrected,
                           &value.sram_corrected, &value.sram_uncorrected}) {
        field(*number);
      }
    } else if constexpr (std::is_same_v<Type, NeuronPower>) {
      field(value.status);
      field(value.sampled_unix_s);
      field(value.min_percent);
      field(value.max_percent);
      field(value.mean_percent);
    }
  }

  template <typename Coder, typename T>
  static void VisitDevice(Coder& field, T& device) {
    field(device.index);
    field(device.chip);
    field(device.chip_source);
    field(device.core_version);
    for (auto* text :
         {&device.instance_type, &device.bdf, &device.serial_number, &device.driver_version, &device.cpu_affinity}) {
      field(*text);
    }
    field(device.numa_node);
    field(device.connected);
    field(device.physical_cores);
    field(device.lnc);
    field(device.cores);
    field(device.memory_bytes);
    field(device.memory_used_bytes);
    field(device.processes);
    field(device.runtimes);
    field(device.ecc);
    field(device.execution_errors);
    field(device.unhealthy_components);
    field(device.power);
    field(device.notes);
    field(device.reported_mono_ns);
    field(device.users_mono_ns);
  }

  static ErrorCode Last(ErrorCode /*of*/) { return ErrorCode::kStorageBroken; }
  static NeuronPower::Status Last(NeuronPower::Status /*of*/) { return NeuronPower::Status::kInvalid; }
};

}  // namespace

std::string EncodeNeuronPacket(NeuronPacket packet) {
  if (auto* device = std::get_if<NeuronDevice>(&packet.message)) CutToRoom(*device);
  return EncodeFields<NeuronFields>(packet, kNeuronLimits);
}

Result<NeuronPacket> DecodeNeuronPacket(std::string_view bytes) {
  NeuronPacket packet;
  if (!DecodeFields<NeuronFields>(bytes, kNeuronLimits, packet)) {
    return Fail(ErrorCode::kBadInput, "hear from the Neuron devices' worker", "what it says is in no known form",
                "check that kprof is installed whole");
  }
  return packet;
}

NeuronTold::Trouble TroubleOf(const Status& status) {
  if (status.ok()) return {};
  return {status.code(), status.what(), status.why(), status.remedy()};
}

Status StatusOf(const NeuronTold::Trouble& trouble) {
  if (trouble.code == ErrorCode::kOk) return OkStatus();
  return Status(trouble.code, trouble.what, trouble.why, trouble.remedy);
}

}  // namespace kprof
