// The protocol between kprofd and the worker of an NVIDIA device (kprof-device). One packet (SOCK_SEQPACKET,
// storage/base/packet_socket.h) is one message: u32 tag, u8 type, fields (message_coder.h). Both are of one build, and
// one end of a socketpair: there is no greeting.
//
//   NvidiaCount                                  NvidiaCounted | NvidiaFailed
//   NvidiaOpen  a uuid, or an index              NvidiaIdentity | NvidiaFailed   first of all, once
//   NvidiaReadIdentity                           NvidiaIdentity | NvidiaFailed
//   NvidiaReadState                              NvidiaState | NvidiaFailed
//   NvidiaReadSample                             NvidiaSample | NvidiaFailed
//   NvidiaWatch  how often                       NvidiaDone
//
// Each is answered with its tag, in the order of asking. By itself, with tag 0, the worker tells NvidiaSamples and
// NvidiaState while it is to watch, NvidiaEvent whenever the driver has one, and NvidiaFailed when a device that is
// watched is lost. It ends when its socket does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/devices/nvidia/nvidia_facts.h"
#include "storage/base/status.h"

namespace kprof {

// The descriptors of a worker's socket and of its call page.
constexpr int kDeviceChannelFd = 3;
constexpr int kDevicePageFd = 4;

constexpr size_t kDevicePacketLimitBytes = 128 << 10;

struct NvidiaCount {
  bool operator==(const NvidiaCount&) const = default;
};
struct NvidiaOpen {
  uint32_t index = 0;
  std::string uuid;                // empty: by its index
  std::vector<std::string> taken;  // uuids of others
  bool operator==(const NvidiaOpen&) const = default;
};
struct NvidiaReadIdentity {
  bool operator==(const NvidiaReadIdentity&) const = default;
};
struct NvidiaReadState {
  bool operator==(const NvidiaReadState&) const = default;
};
struct NvidiaReadSample {
  bool operator==(const NvidiaReadSample&) const = default;
};
// 0: not any more.
struct NvidiaWatch {
  int64_t sample_period_ns = 0;
  int64_t state_period_ns = 0;
  bool operator==(const NvidiaWatch&) const = default;
};

struct NvidiaCounted {
  uint32_t devices = 0;
  bool operator==(const NvidiaCounted&) const = default;
};
struct NvidiaFailed {
  ErrorCode code = ErrorCode::kInternal;
  std::string what;
  std::string why;
  std::string remedy;
  bool operator==(const NvidiaFailed&) const = default;
};
struct NvidiaDone {
  bool operator==(const NvidiaDone&) const = default;
};
struct NvidiaSamples {
  std::vector<NvidiaSample> samples;
  bool operator==(const NvidiaSamples&) const = default;
};

using NvidiaMessage = std::variant<NvidiaCount, NvidiaOpen, NvidiaReadIdentity, NvidiaReadState, NvidiaReadSample,
                                   NvidiaWatch, NvidiaCounted, NvidiaFailed, NvidiaDone, NvidiaIdentity, NvidiaState,
                                   NvidiaSample, NvidiaSamples, NvidiaEvent>;

struct NvidiaPacket {
  uint32_t tag = 0;
  NvidiaMessage message;
  bool operator==(const NvidiaPacket&) const = default;
};

// Lists that the packet has no room for are cut.
std::string EncodeNvidiaPacket(const NvidiaPacket& packet);
// Fails with kBadInput; takes any bytes.
Result<NvidiaPacket> DecodeNvidiaPacket(std::string_view bytes);

NvidiaFailed FailedOf(const Status& status);
Status StatusOf(const NvidiaFailed& failed);

}  // namespace kprof
