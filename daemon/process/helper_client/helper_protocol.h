// The protocol between kprofd and its root helper; docs/helper_protocol.md is the same for people. One packet
// (SOCK_SEQPACKET, storage/base/packet_socket.h) is one message: u32 tag, u8 type, fields (message_coder.h). The first
// packet of each side is Hello. Then kprofd asks and the helper answers each request once, with its tag, in any order.
//
//   Register  run id, digest + 1 file: a client's connection     Done | Refused   the run may be started as that client
//   Start     run id + 1 file: the supervisor's end              Started | Refused
//   Sweep     run id                                             Swept | Refused  ends what the run left
//   Forget    run id                                             Done             its grant goes
//   OpenFile  path + 1 file: a client's connection               Opened + 1 file | Refused
//   WhereIs   1 file: a client's connection                      Place | Refused  whether the client is in a container
//   RegisterRemote  run id, uid, digest                          Done | Refused   the same for a remote client
//   GetState                                                     State
//   HoldClocks  uuid + 2 files: a socket, a page                 Started | Refused  a keeper of a device's clocks
//   ListHeld                                                     HeldList         the devices whose clocks are held
//   ListGrants  after which run id, or empty                     GrantList        the next ones, as many as fit
//
// The helper trusts no field. A run id is 16 characters of its alphabet; a path is absolute; the client's identity is
// read from its connection itself. A remote client has no connection here: the helper takes kprofd's word, for the uids
// alone that root has listed. A peer that breaks the form loses the connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/process/helper_client/caller_place.h"
#include "storage/base/status.h"

namespace kprof {

// Raised with every change of a message's bytes or meaning.
constexpr uint32_t kHelperProtocolVersion = 5;
constexpr size_t kHelperPacketLimitBytes = 8 << 10;
// Requests that wait for their answers on one connection; one more waits in the socket.
constexpr size_t kMostHelperRequests = 32;
constexpr size_t kHelperPathLimitBytes = 4096;
constexpr size_t kMostListedGrants = 256;  // in one answer
constexpr size_t kMostHeldDevices = 64;    // in one answer; a node has no more

// Both directions.
struct HelperHello {
  uint32_t version = kHelperProtocolVersion;
  bool operator==(const HelperHello&) const = default;
};

struct HelperRegister {
  std::string run_id;
  std::string digest;  // launch_request.h
  bool operator==(const HelperRegister&) const = default;
};
struct HelperStart {
  std::string run_id;
  bool operator==(const HelperStart&) const = default;
};
struct HelperSweep {
  std::string run_id;
  bool operator==(const HelperSweep&) const = default;
};
struct HelperForget {
  std::string run_id;
  bool operator==(const HelperForget&) const = default;
};
struct HelperOpenFile {
  std::string path;
  bool operator==(const HelperOpenFile&) const = default;
};
struct HelperGetState {
  bool operator==(const HelperGetState&) const = default;
};

struct HelperRegisterRemote {
  std::string run_id;
  uint32_t uid = 0;
  std::string digest;
  bool operator==(const HelperRegisterRemote&) const = default;
};

// The grants whose run ids come after this one, in their order; empty: from the first.
struct HelperListGrants {
  std::string after;
  bool operator==(const HelperListGrants&) const = default;
};

// For a client that is served in any case: tells what may be done for it.
struct HelperWhereIs {
  bool operator==(const HelperWhereIs&) const = default;
};

// The keeper (kprof-clocks) speaks keeper_protocol.h at the socket, and notes its calls in the page.
struct HelperHoldClocks {
  std::string device_uuid;
  bool operator==(const HelperHoldClocks&) const = default;
};
struct HelperListHeld {
  bool operator==(const HelperListHeld&) const = default;
};

struct HelperDone {
  bool operator==(const HelperDone&) const = default;
};
struct HelperRefused {
  ErrorCode code = ErrorCode::kInternal;
  std::string why;
  std::string remedy;
  bool operator==(const HelperRefused&) const = default;
};
struct HelperStarted {
  bool own_unit = false;  // a transient service; else among the helper's processes
  bool operator==(const HelperStarted&) const = default;
};
struct HelperSwept {
  uint32_t ended = 0;  // processes
  uint32_t left = 0;   // processes that are still there
  bool operator==(const HelperSwept&) const = default;
};
struct HelperOpened {
  bool operator==(const HelperOpened&) const = default;
};
struct HelperState {
  bool own_units = false;
  uint32_t grants = 0;
  uint32_t running = 0;  // started and not forgotten
  bool operator==(const HelperState&) const = default;
};

// Run ids. None: there are no more.
struct HelperGrantList {
  std::vector<std::string> unused;
  std::vector<std::string> used;
  bool operator==(const HelperGrantList&) const = default;
};

// Never kUnknown.
struct HelperPlace {
  CallerPlace place = CallerPlace::kGone;
  bool operator==(const HelperPlace&) const = default;
};

// Uuids of devices.
struct HelperHeldList {
  std::vector<std::string> device_uuids;
  bool operator==(const HelperHeldList&) const = default;
};

using HelperMessage =
    std::variant<HelperHello, HelperRegister, HelperStart, HelperSweep, HelperForget, HelperOpenFile, HelperGetState,
                 HelperRegisterRemote, HelperListGrants, HelperWhereIs, HelperHoldClocks, HelperListHeld, HelperDone,
                 HelperRefused, HelperStarted, HelperSwept, HelperOpened, HelperState, HelperGrantList, HelperPlace,
                 HelperHeldList>;

struct HelperPacket {
  uint32_t tag = 0;
  HelperMessage message;
  bool operator==(const HelperPacket&) const = default;
};

std::string EncodeHelperPacket(const HelperPacket& packet);
// kBadInput for bytes that are not in the form, a Hello of another magic, and fields that no helper accepts.
Result<HelperPacket> DecodeHelperPacket(std::string_view bytes);

// The number of files that come with a message: two, one or none.
size_t FilesOf(const HelperMessage& message);

// True for a run's whole id: 16 characters of Crockford's lower-case base32. Safe as a file name.
bool IsWholeRunId(std::string_view text);

// True for letters, digits and dashes, as in the uuids of NVIDIA's devices: safe as a file name.
bool IsDeviceUuid(std::string_view text);

// True for an absolute path without NUL, of at most kHelperPathLimitBytes.
bool IsOpenablePath(std::string_view path);

}  // namespace kprof
