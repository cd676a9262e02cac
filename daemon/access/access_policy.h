// Which role a local user has: from what the configuration says of users and groups. The highest that fits counts; who
// fits none has none. Of remote callers that is certificate_identity.h.
//
// A value; any thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/access/subordinate_uids.h"

namespace kprof {

struct AccessPolicy {
  Role everyone = Role::kNone;
  std::map<uid_t, Role> users;
  std::map<gid_t, Role> groups;
  // The user that kprofd itself runs as, and the system's stand-in for users that have no number here (a container's):
  // neither is a person whose commands could run as such.
  std::vector<uid_t> nobodies;
  std::vector<SubordinateRange> subordinates;

  bool operator==(const AccessPolicy&) const = default;
};

// Whom limits and turns count that user as: the owner, of a subordinate uid without a rule of its own; else itself.
uid_t AccountOf(const AccessPolicy& policy, uid_t uid);

// `groups`: all of the peer's, the first one included.
Caller CallerOf(const AccessPolicy& policy, uid_t uid, const std::vector<gid_t>& groups);

}  // namespace kprof
