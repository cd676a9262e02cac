// The protocol between kprofd and the worker of the Neuron devices (kprof-neuron). One packet (SOCK_SEQPACKET,
// storage/base/packet_socket.h) is one message: u32 tag, u8 type, fields (message_coder.h). Both are of one build, and
// one end of a socketpair: there is no greeting.
//
//   NeuronAsk                 NeuronDevice for each, then NeuronTold
//   NeuronMonitorFor          NeuronDone
//
// Each is answered with its tag, in the order of asking. By itself, with tag 0, the worker tells all devices, and then
// NeuronTold, whenever neuron-monitor has reported, has ended, or cannot be started. It ends when its socket does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/devices/neuron/neuron_device.h"
#include "storage/base/status.h"

namespace kprof {

// The descriptors of a worker's socket and of its call page.
constexpr int kNeuronChannelFd = 3;
constexpr int kNeuronPageFd = 4;

constexpr size_t kNeuronPacketLimitBytes = 160 << 10;

struct NeuronAsk {
  bool lists = false;  // asks neuron-ls as well, which is slow
  bool operator==(const NeuronAsk&) const = default;
};
// The period in which neuron-monitor reports; 0: it is not to run.
struct NeuronMonitorFor {
  int32_t period_s = 0;
  bool operator==(const NeuronMonitorFor&) const = default;
};

struct NeuronDone {
  bool operator==(const NeuronDone&) const = default;
};
// Comes after the devices.
struct NeuronTold {
  // The status of neuron-ls when it was asked last, or of neuron-monitor while that is to run.
  struct Trouble {
    ErrorCode code = ErrorCode::kOk;
    std::string what;
    std::string why;
    std::string remedy;
    bool operator==(const Trouble&) const = default;
  };
  uint32_t devices = 0;
  bool has_tree = false;  // the driver's, in sysfs
  bool reported = false;  // by a recent report
  Trouble listing;
  Trouble monitor;
  bool operator==(const NeuronTold&) const = default;
};

using NeuronMessage = std::variant<NeuronAsk, NeuronMonitorFor, NeuronDone, NeuronDevice, NeuronTold>;

struct NeuronPacket {
  uint32_t tag = 0;
  NeuronMessage message;
  bool operator==(const NeuronPacket&) const = default;
};

// Texts and lists that the packet has no room for are cut.
std::string EncodeNeuronPacket(NeuronPacket packet);
// Fails with kBadInput; takes any bytes.
Result<NeuronPacket> DecodeNeuronPacket(std::string_view bytes);

NeuronTold::Trouble TroubleOf(const Status& status);
Status StatusOf(const NeuronTold::Trouble& trouble);

}  // namespace kprof
