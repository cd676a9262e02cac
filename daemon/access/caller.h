// The caller of an RPC, known from the connection (SO_PEERCRED, or a client's certificate), never from what the client
// says. A handler's Caller is fixed by construction: each caller has a server of its own (caller_servers.h). The
// caller's rights are permissions.h.
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

// The groups of the process at the other end of a Unix socket, as they were when it connected; `gid`, its first one, is
// the last. Where the kernel does not tell them: `gid` alone. Any thread.
std::vector<gid_t> PeerGroups(int connection, gid_t gid);

// Each role may do what the roles before it may.
enum class Role {
  kNone,      // nothing
  kViewer,    // an ordinary user: starts and handles own runs, sees runs that others share
  kOperator,  // sees all, and keeps the node going: cancels, pins, closes what belongs to others
  kAdmin,     // deletes what belongs to others, backs up, reads the audit
};

std::string_view RoleName(Role role);  // "viewer"
// Nothing for any text but viewer, operator and admin: nobody is given "none".
std::optional<Role> RoleByName(std::string_view name);

// The uid of a caller who is no user of this node; such a caller owns nothing. No user has this uid: for the system it
// means "no change".
constexpr uint32_t kNoUid = UINT32_MAX;

struct Caller {
  uint32_t uid = kNoUid;
  Role role = Role::kNone;
  bool may_start = false;   // commands; they run as `uid`
  std::string certificate;  // its name, of a remote connection; empty: a local one
  // The user that limits and turns count it as, where that is another: the owner of a subordinate uid.
  std::optional<uint32_t> counts_as = std::nullopt;
  // The groups of a local connection, as the kernel has them: the supplementary ones, then the first. Connections of
  // one user with different groups are different callers.
  std::vector<uint32_t> groups = {};
  // The place of a local caller, where it matters: in system mode, for one who may start something. It decides what may
  // be started for the caller. Ownership does not depend on it.
  CallerPlace place = CallerPlace::kUnasked;
  // The CertificateId (certificate_identity.h) of a certificate that may start something: the right ends when just this
  // certificate is revoked.
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
