#include "daemon/clocks/keeper/keeper_protocol.h"

#include <type_traits>
#include <utility>

#include "storage/base/field_coder.h"

namespace kprof {
namespace {

constexpr FieldLimits kLimits{.text_bytes = 512, .list_entries = 16};

struct Fields {
  template <typename Coder, typename T>
  static void Visit(Coder& field, T& value) {
    using Type = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Type, KeeperLock>) {
      field(value.holder);
      field(value.wanted);
      field(value.required);
    } else if constexpr (std::is_same_v<Type, WantedClocks>) {
      field(value.sm_mhz);
      field(value.memory_mhz);
      field(value.persistence);
      field(value.power_limit_mw);
    } else if constexpr (std::is_same_v<Type, PriorClocks>) {
      field(value.persistence);
      field(value.power_limit_mw);
      field(value.application_memory_mhz);
      field(value.application_sm_mhz);
    } else if constexpr (std::is_same_v<Type, KeeperLocked>) {
      field(value.held);
      field(value.prior);
      field(value.notes);
    } else if constexpr (std::is_same_v<Type, KeeperPause>) {
      field(value.holder);
      field(value.limit_ns);
    } else if constexpr (std::is_same_v<Type, KeeperPaused>) {
      field(value.whose);
      field(value.by_others);
    } else if constexpr (std::is_same_v<Type, KeeperReleased>) {
      field(value.notes);
    } else if constexpr (std::is_same_v<Type, KeeperFailed>) {
      field(value.code);
      field(value.what);
      field(value.why);
      field(value.remedy);
    }
  }
  static ErrorCode Last(ErrorCode /*of*/) { return ErrorCode::kNoKernels; }
};

}  // namespace

std::string EncodeKeeperPacket(const KeeperPacket& packet) {
  return EncodeFields<Fields>(packet, kLimits);
}

Result<KeeperPacket> DecodeKeeperPacket(std::string_view bytes) {
  KeeperPacket packet;
  if (!DecodeFields<Fields>(bytes, kLimits, packet)) {
    return Fail(ErrorCode::kBadInput, "hear from a keeper", "what is said is in no known form",
                "check that kprof is installed whole");
  }
  return packet;
}

KeeperFailed KeeperFailedOf(const Status& status) {
  return {status.code(), status.what(), status.why(), status.remedy()};
}

Status StatusOf(const KeeperFailed& failed) {
  const ErrorCode code = failed.code == ErrorCode::kOk ? ErrorCode::kInternal : failed.code;
  return Status(code, failed.what, failed.why, failed.remedy);
}

}  // namespace kprof
