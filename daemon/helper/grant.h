// That a caller, while connected, asked for one run: the root helper's own memory of it, which nobody else can write.
// With it, and never without it, something is started as that caller.
//
// A file is "kprofgrant2\n", 64 hex digits of the payload's SHA-256, "\n", the payload: run id, uid, gid, digest, when,
// boot id, used, remote, groups (storage/base/message_coder.h). docs/helper_protocol.md has it for people. The first
// version, "kprofgrant1\n", has no `remote`: such a grant is read as a local one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// As a connection tells it.
struct CallerIdentity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;  // supplementary
  bool operator==(const CallerIdentity&) const = default;
};

struct Grant {
  std::string run_id;
  CallerIdentity caller;
  std::string digest;  // launch_digest.h
  int64_t given_unix_ns = 0;
  std::string boot_id;  // of the kernel that it was used under
  bool used = false;    // something was started, or was about to be
  bool remote = false;  // nobody saw its caller: kprofd's word was taken for one whom root lists (remote_users.h)
  bool operator==(const Grant&) const = default;
};

// In the newest version.
std::string EncodeGrant(const Grant& grant);
// kBadInput for a damaged one, and for values that no grant has.
Result<Grant> DecodeGrant(std::string_view bytes);

// A payload of the newest version with magic and sum before it.
std::string WithGrantFrame(std::string_view payload);

}  // namespace kprof
