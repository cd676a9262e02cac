#include "daemon/devices/nvidia/nvidia_protocol.h"

#include <type_traits>
#include <utility>

#include "storage/base/field_coder.h"

namespace kprof {
namespace {

// With its longest lists and texts a packet has room for each message.
constexpr FieldLimits kNvidiaLimits{.text_bytes = 256, .list_entries = 1024};

struct NvidiaFields {
  template <typename Coder, typename T>
  static void Visit(Coder& field, T& value) {
    using Type = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Type, NvidiaOpen>) {
      field(value.index);
      field(value.uuid);
      field(value.taken);
    } else if constexpr (std::is_same_v<Type, NvidiaWatch>) {
      field(value.sample_period_ns);
      field(value.state_period_ns);
    } else if constexpr (std::is_same_v<Type, NvidiaCounted>) {
      field(value.devices);
    } else if constexpr (std::is_same_v<Type, NvidiaFailed>) {
      field(value.code);
      field(value.what);
      field(value.why);
      field(value.remedy);
    } else if constexpr (std::is_same_v<Type, NvidiaIdentity>) {
      for (auto* text :
           {&value.uuid, &value.name, &value.serial, &value.pci, &value.architecture, &value.compute_capability,
            &value.vbios, &value.driver_version, &value.nvml_version, &value.cuda_version}) {
        field(*text);
      }
      for (auto* number : {&value.minor_number, &value.cuda_cores, &value.sm_count, &value.memory_bus_bits}) {
        field(*number);
      }
      field(value.memory_bytes);
      field(value.max_sm_mhz);
      field(value.max_memory_mhz);
      field(value.memory_clocks_mhz);
      field(value.sm_clocks_mhz);
      for (auto* number :
           {&value.default_application_sm_mhz, &value.default_application_memory_mhz, &value.least_power_mw,
            &value.most_power_mw, &value.default_power_mw, &value.slowdown_c, &value.shutdown_c, &value.most_gpu_c}) {
        field(*number);
      }
      field(value.nvlinks);
    } else if constexpr (std::is_same_v<Type, NvLink>) {
      field(value.number);
      field(value.active);
      field(value.remote_pci);
    } else if constexpr (std::is_same_v<Type, MigInstance>) {
      field(value.uuid);
      for (auto* number :
           {&value.gpu_instance, &value.compute_instance, &value.sm_count, &value.gpu_slices, &value.compute_slices}) {
        field(*number);
      }
      field(value.memory_bytes);
    } else if constexpr (std::is_same_v<Type, NvidiaProcess>) {
      field(value.pid);
      field(value.graphics);
      field(value.memory_bytes);
    } else if constexpr (std::is_same_v<Type, NvidiaState>) {
      field(value.memory_used_bytes);
      field(value.mig);
      field(value.mig_instances);
      field(value.persistence);
      field(value.ecc);
      field(value.ecc_corrected);
      field(value.ecc_uncorrected);
      for (auto* number : {&value.application_sm_mhz, &value.application_memory_mhz, &value.power_limit_mw,
                           &value.enforced_power_limit_mw}) {
        field(*number);
      }
      field(value.energy_mj);
      field(value.processes);
    } else if constexpr (std::is_same_v<Type, NvidiaSample>) {
      field(value.mono_ns);
      field(value.took_ns);
      field(value.sm_mhz);
      field(value.memory_mhz);
      field(value.reasons);
      for (auto* number : {&value.power_mw, &value.temperature_c, &value.gpu_percent, &value.memory_percent}) {
        field(*number);
      }
    } else if constexpr (std::is_same_v<Type, NvidiaSamples>) {
      field(value.samples);
    } else if constexpr (std::is_same_v<Type, NvidiaEvent>) {
      field(value.kind);
      field(value.unix_ns);
      field(value.value);
    }
  }

  static ErrorCode Last(ErrorCode /*of*/) { return ErrorCode::kStorageBroken; }
  static NvidiaEvent::Kind Last(NvidiaEvent::Kind /*of*/) { return NvidiaEvent::Kind::kDoubleBitEcc; }
};

}  // namespace

std::string EncodeNvidiaPacket(const NvidiaPacket& packet) {
  return EncodeFields<NvidiaFields>(packet, kNvidiaLimits);
}

Result<NvidiaPacket> DecodeNvidiaPacket(std::string_view bytes) {
  NvidiaPacket packet;
  if (!DecodeFields<NvidiaFields>(bytes, kNvidiaLimits, packet)) {
    return Fail(ErrorCode::kBadInput, "hear from a device's worker", "what it says is in no known form",
                "check that kprof is installed whole");
  }
  return packet;
}

NvidiaFailed FailedOf(const Status& status) {
  return {status.code(), status.what(), status.why(), status.remedy()};
}

Status StatusOf(const NvidiaFailed& failed) {
  const ErrorCode code = failed.code == ErrorCode::kOk ? ErrorCode::kInternal : failed.code;
  return Status(code, failed.what, failed.why, failed.remedy);
}

}  // namespace kprof
