// Which role a local user has: from what the configuration says of users and groups. The highest that fits counts; who
// fits none has none. Of remote callers that is certificate_identity.h.
//
// A value; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/access/caller.h"

namespace kprof {

// Uids that belong to somebody besides their own: ranges of subordinate uids, which a user's containers run as
// (subuid(5)). To limits and to the queue all of them are their owner: else whoever has 65,536 uids had 65,536 times as
// much. Who a caller is, and so what is theirs and what they see, stays the uid.
//
// Values and functions of their arguments; any thread.
struct SubordinateRange {
  uid_t first = 0;
  uint32_t count = 0;
  uid_t owner = 0;
  bool operator==(const SubordinateRange&) const = default;
};

struct SubordinateUids {
  std::vector<SubordinateRange> ranges;
  std::vector<std::string> complaints;  // of lines that say nothing: "line 3: there is no user 'x'"
};

// Of lines "owner:first:count", the owner a name or a uid. Ranges of root's are left out: what root gives out are
// different people's containers. So is what makes no sense, with a complaint; the rest holds.
SubordinateUids ParseSubordinateUids(std::string_view text,
                                     const std::function<std::optional<uid_t>(const std::string&)>& uid_of);

// The uids of accounts, of lines as in passwd(5). What is none is left out.
std::vector<uid_t> ParseAccountUids(std::string_view text);

// An account that lies within somebody else's range is a person of its own all the same: it counts as itself from here
// on. Gives those that do.
std::vector<uid_t> SetApart(const std::vector<uid_t>& accounts, std::vector<SubordinateRange>& ranges);

// The first range counts that has it; nothing for a uid of its own.
std::optional<uid_t> OwnerOf(const std::vector<SubordinateRange>& ranges, uid_t uid);

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
