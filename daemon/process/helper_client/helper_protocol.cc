#include "daemon/process/helper_client/helper_protocol.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "daemon/launch/launch_request.h"
#include "storage/base/message_coder.h"

namespace kprof {
namespace {

constexpr uint32_t kHelperHelloMagic = 0x4852504b;  // "KPRH"
constexpr size_t kWholeRunIdLength = 16;
constexpr size_t kHelperTextLimitBytes = 1024;  // of what a refusal says

// The numbers on the wire, in the order of HelperMessage. Never used anew.
constexpr uint8_t kTypes[] = {1,  16,  17,  18,  19,  20,  21,  22,  23,  24, 25,
                              26, 128, 129, 130, 131, 132, 133, 134, 135, 136};
static_assert(std::size(kTypes) == std::variant_size_v<HelperMessage>);

// One list of fields per message, for both directions.
template <typename Coder, typename Message>
void ForEachField(Coder&& field, Message& message) {
  using Type = std::remove_const_t<Message>;
  if constexpr (std::is_same_v<Type, HelperHello>) {
    field(message.version);
  } else if constexpr (std::is_same_v<Type, HelperRegister>) {
    field(message.run_id);
    field(message.digest);
  } else if constexpr (std::is_same_v<Type, HelperRegisterRemote>) {
    field(message.run_id);
    field(message.uid);
    field(message.digest);
  } else if constexpr (std::is_same_v<Type, HelperStart> || std::is_same_v<Type, HelperSweep> ||
                       std::is_same_v<Type, HelperForget>) {
    field(message.run_id);
  } else if constexpr (std::is_same_v<Type, HelperOpenFile>) {
    field(message.path);
  } else if constexpr (std::is_same_v<Type, HelperListGrants>) {
    field(message.after);
  } else if constexpr (std::is_same_v<Type, HelperHoldClocks>) {
    field(message.device_uuid);
  } else if constexpr (std::is_same_v<Type, HelperHeldList>) {
    field(message.device_uuids);
  } else if constexpr (std::is_same_v<Type, HelperGrantList>) {
    field(message.unused);
    field(message.used);
  } else if constexpr (std::is_same_v<Type, HelperStarted>) {
    field(message.own_unit);
  } else if constexpr (std::is_same_v<Type, HelperSwept>) {
    field(message.ended);
    field(message.left);
  } else if constexpr (std::is_same_v<Type, HelperState>) {
    field(message.own_units);
    field(message.grants);
    field(message.running);
  } else if constexpr (std::is_same_v<Type, HelperPlace>) {
    field(message.place);
  }
}

template <typename Message>
void EncodeFields(MessageEncoder& out, const Message& message) {
  if constexpr (std::is_same_v<Message, HelperHello>) out.Add(kHelperHelloMagic);
  if constexpr (std::is_same_v<Message, HelperRefused>) {
    out.Add(std::string(ErrorName(message.code)));
    out.Add(message.why.substr(0, kHelperTextLimitBytes));
    out.Add(message.remedy.substr(0, kHelperTextLimitBytes));
  }
  ForEachField([&](const auto& value) { out.Add(value); }, message);
}

// Whether the values are ones that the protocol has.
template <typename Message>
bool DecodeFields(MessageDecoder& in, Message& message) {
  if constexpr (std::is_same_v<Message, HelperHello>) {
    uint32_t magic = 0;
    in.Read(magic);
    if (magic != kHelperHelloMagic) return false;
  }
  if constexpr (std::is_same_v<Message, HelperRefused>) {
    std::string code;
    in.Read(code);
    in.Read(message.why);
    in.Read(message.remedy);
    const std::optional<ErrorCode> known = ErrorCodeByName(code);
    if (!known || *known == ErrorCode::kOk || message.why.size() > kHelperTextLimitBytes ||
        message.remedy.size() > kHelperTextLimitBytes) {
      return false;
    }
    message.code = *known;
  }
  ForEachField([&](auto& value) { in.Read(value); }, message);
  if constexpr (requires { message.run_id; }) {
    if (!IsWholeRunId(message.run_id)) return false;
  }
  if constexpr (requires { message.digest; }) {
    if (!LooksLikeLaunchDigest(message.digest)) return false;
  }
  if constexpr (requires { message.path; }) {
    if (!IsOpenablePath(message.path)) return false;
  }
  if constexpr (requires { message.device_uuid; }) {
    if (!IsDeviceUuid(message.device_uuid)) return false;
  }
  if constexpr (std::is_same_v<Message, HelperHeldList>) {
    if (message.device_uuids.size() > kMostHeldDevices) return false;
    if (!std::all_of(message.device_uuids.begin(), message.device_uuids.end(), IsDeviceUuid)) return false;
  }
  if constexpr (std::is_same_v<Message, HelperListGrants>) {
    if (!message.after.empty() && !IsWholeRunId(message.after)) return false;
  }
  if constexpr (std::is_same_v<Message, HelperGrantList>) {
    if (message.unused.size() + message.used.size() > kMostListedGrants) return false;
    if (!std::all_of(message.unused.begin(), message.unused.end(), IsWholeRunId)) return false;
    if (!std::all_of(message.used.begin(), message.used.end(), IsWholeRunId)) return false;
  }
  if constexpr (std::is_same_v<Message, HelperPlace>) {
    if (message.place == CallerPlace::kUnknown || message.place > CallerPlace::kGone) return false;
  }
  return in.Ok();
}

// Tries the alternatives one after the other.
template <size_t I = 0>
bool DecodeMessage(uint8_t type, MessageDecoder& in, HelperMessage& message) {
  if constexpr (I < std::variant_size_v<HelperMessage>) {
    if (kTypes[I] != type) return DecodeMessage<I + 1>(type, in, message);
    std::variant_alternative_t<I, HelperMessage> decoded;
    if (!DecodeFields(in, decoded)) return false;
    message = std::move(decoded);
    return true;
  }
  return false;
}

}  // namespace

std::string EncodeHelperPacket(const HelperPacket& packet) {
  MessageEncoder out;
  out.Add(packet.tag);
  out.Add(kTypes[packet.message.index()]);
  std::visit([&](const auto& message) { EncodeFields(out, message); }, packet.message);
  return out.Take();
}

Result<HelperPacket> DecodeHelperPacket(std::string_view bytes) {
  auto bad = [] {
    return Fail(ErrorCode::kBadInput, "read a message between kprofd and kprofd-helper",
                "its bytes are not in the protocol's form", "install both from the same package and restart them");
  };
  if (bytes.size() > kHelperPacketLimitBytes) return bad();
  MessageDecoder in(bytes);
  HelperPacket packet;
  uint8_t type = 0;
  in.Read(packet.tag);
  in.Read(type);
  if (!DecodeMessage(type, in, packet.message)) return bad();
  return packet;
}

size_t FilesOf(const HelperMessage& message) {
  if (std::holds_alternative<HelperHoldClocks>(message)) return 2;
  const bool has = std::holds_alternative<HelperRegister>(message) || std::holds_alternative<HelperStart>(message) ||
                   std::holds_alternative<HelperOpenFile>(message) || std::holds_alternative<HelperWhereIs>(message) ||
                   std::holds_alternative<HelperOpened>(message);
  return has ? 1 : 0;
}

bool IsWholeRunId(std::string_view text) {
  constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  return text.size() == kWholeRunIdLength && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

bool IsDeviceUuid(std::string_view text) {
  constexpr size_t kMostUuid = 96;
  return !text.empty() && text.size() <= kMostUuid && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

bool IsOpenablePath(std::string_view path) {
  return path.starts_with('/') && path.size() <= kHelperPathLimitBytes && path.find('\0') == std::string_view::npos;
}

}  // namespace kprof
