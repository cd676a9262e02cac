// The protocol between kprofd and a keeper: kprof-clocks for clocks, kprof-pause for a pause of DCGM. One packet
// (SOCK_SEQPACKET, storage/base/packet_socket.h) is one message: u32 tag, u8 type, fields (message_coder.h). Both are
// of one build. The keeper is often another user, root, and checks everything that it is told.
//
//   KeeperLock     holder, the wanted clocks       KeeperLocked | KeeperFailed   nothing is held then
//   KeeperPause    holder, for how long at most    KeeperPaused | KeeperFailed   nothing is held then
//   KeeperRelease                                  KeeperReleased | KeeperFailed
//
// Each is answered with its tag, in the order of asking. First of all the keeper gives back what an earlier one left.
// When its socket ends, it gives back what is held, and then ends.
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
  bool required = false;  // fails unless all of it can be held
  bool operator==(const KeeperLock&) const = default;
};
// For a keeper of a pause. It replaces the limit of a pause that is there already.
struct KeeperPause {
  std::string holder;
  int64_t limit_ns = 0;  // from now
  bool operator==(const KeeperPause&) const = default;
};
struct KeeperRelease {
  bool operator==(const KeeperRelease&) const = default;
};

// The clocks are held. `notes` tell people which other wishes did not work.
struct KeeperLocked {
  WantedClocks held;
  PriorClocks prior;
  std::vector<std::string> notes;
  bool operator==(const KeeperLocked&) const = default;
};
struct KeeperPaused {
  std::string whose;       // "DCGM": the profiler that is paused
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
