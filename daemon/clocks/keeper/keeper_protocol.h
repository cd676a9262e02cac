// What kprofd and a keeper, of clocks (keeper/) or of a pause (pauser/), say to each other. One packet (SOCK_SEQPACKET,
// storage/base/packet_socket.h) is one message: u32 tag, u8 type, fields (message_coder.h). Both are of one build; the
// keeper is often another user, root, and takes nothing of what it is told without looking at it.
//
//   KeeperLock      holder, what the clocks are to be        KeeperLocked | KeeperFailed   nothing is held then
//   KeeperPause  holder, for how long at most                KeeperPaused | KeeperFailed   nothing is held then
//   KeeperRelease                                            KeeperReleased | KeeperFailed
//
// Each is answered with its tag, in the order of asking. When its socket ends, the keeper gives back what is held, and
// then ends. What was left by one before it, it gives back first of all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/clocks/locks/clock_notes.h"
#include "storage/base/status.h"

namespace kprof {

constexpr size_t kKeeperPacketLimitBytes = 16 << 10;

struct KeeperLock {
  std::string holder;
  WantedClocks wanted;
  bool required = false;  // all of it, or nothing
  bool operator==(const KeeperLock&) const = default;
};
// For a keeper of a pause; one that is there already lasts as long as this one then.
struct KeeperPause {
  std::string holder;
  int64_t limit_ns = 0;  // from now
  bool operator==(const KeeperPause&) const = default;
};
struct KeeperRelease {
  bool operator==(const KeeperRelease&) const = default;
};

// The clocks are held; of what else was wanted, what did not work, as sentences for people.
struct KeeperLocked {
  WantedClocks held;
  PriorClocks prior;
  std::vector<std::string> notes;
  bool operator==(const KeeperLocked&) const = default;
};
struct KeeperPaused {
  std::string whose;       // "DCGM": what is paused
  bool by_others = false;  // somebody else paused it before, and it stays so
  bool operator==(const KeeperPaused&) const = default;
};
struct KeeperReleased {
  std::vector<std::string> notes;
  bool operator==(const KeeperReleased&) const = default;
};
struct KeeperFailed {
  ErrorCode code = ErrorCode::kInternal;
  std::string what;
  std::string why;
  std::string remedy;
  bool operator==(const KeeperFailed&) const = default;
};

using KeeperMessage =
    std::variant<KeeperLock, KeeperRelease, KeeperLocked, KeeperReleased, KeeperFailed, KeeperPause, KeeperPaused>;

struct KeeperPacket {
  uint32_t tag = 0;
  KeeperMessage message;
  bool operator==(const KeeperPacket&) const = default;
};

std::string EncodeKeeperPacket(const KeeperPacket& packet);
// Fails with kBadInput; takes any bytes.
Result<KeeperPacket> DecodeKeeperPacket(std::string_view bytes);

KeeperFailed KeeperFailedOf(const Status& status);
Status StatusOf(const KeeperFailed& failed);

}  // namespace kprof
