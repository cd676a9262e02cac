// Who is asking: known from the connection (SO_PEERCRED, or a client's certificate), never from what the client says. A
// handler's Caller is fixed by construction: each has a server of its own (caller_servers.h). What a caller may do is
// access_rules.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "daemon/process/helper_client/caller_place.h"

namespace kprof {

// The groups of whoever is at the other end of a Unix socket, as they were when it connected.

// All of them, `gid`, the first one, among them. Where the kernel does not tell: that one. Any thread.
std::vector<gid_t> PeerGroups(int connection, gid_t gid);

// Each may do what those before it may.
enum class Role {
  kNone,      // nothing
  kViewer,    // an ordinary user: measures as oneself, handles what is one's own, sees what others share
  kOperator,  // sees all, and keeps the node going: cancels, pins, closes what belongs to others
  kAdmin,     // deletes what belongs to others, backs up, reads the audit
};

std::string_view RoleName(Role role);  // "viewer"
// Nothing for what is none of viewer, operator, admin: "none" is nothing to give to somebody.
std::optional<Role> RoleByName(std::string_view name);

// Of a caller who is no user of this node; owns nothing. No user has it: for the system it means "no change".
constexpr uint32_t kNoUid = UINT32_MAX;

struct Caller {
  uint32_t uid = kNoUid;
  Role role = Role::kNone;
  bool may_start = false;   // commands; they run as `uid`
  std::string certificate;  // whose name the connection came with; empty: a local one
  // The user whom limits and turns count it as, if that is another: the owner of a subordinate uid.
  std::optional<uint32_t> counts_as = std::nullopt;
  // Of a local connection, as the kernel has them: the supplementary ones, then the first. Two connections of a user
  // with different ones are two callers.
  std::vector<uint32_t> groups = {};
  // Of a local connection, in system mode, where it matters: what may be started for it. It is no part of who somebody
  // is: what is one's own is so from everywhere.
  CallerPlace place = CallerPlace::kUnasked;
  // Which certificate of that name it was (certificate_identity.h), where it may start something: that ends when just
  // this one is revoked.
  std::string certificate_id = {};

  uint32_t account() const { return counts_as.value_or(uid); }
  bool sees_all() const { return role >= Role::kOperator; }
  bool operator==(const Caller&) const = default;
  // For maps. Not <=>: clang-tidy 14 takes its comparison with 0 for a null pointer.
  bool operator<(const Caller& other) const {
    return std::tie(uid, role, may_start, certificate, certificate_id, counts_as, groups, place) <
           std::tie(other.uid, other.role, other.may_start, other.certificate, other.certificate_id, other.counts_as,
                    other.groups, other.place);
  }
};

// For messages: "uid 1000", or "certificate ci-runner".
std::string CallerName(const Caller& caller);

}  // namespace kprof
