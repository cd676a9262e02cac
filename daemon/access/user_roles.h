// Says which role a local user has, by what the configuration says of users and groups, and which user a subordinate
// uid counts as. The highest role that fits counts; a user whom nothing fits has none. Remote callers are
// certificate_identity.h.
//
// Values and functions of their arguments; any thread.
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

// A range of subordinate uids (subuid(5)), which a user's containers run as. Limits and the queue count all of them as
// their owner: else a user with 65,536 uids would have 65,536 times as much. A caller stays its own uid: that decides
// what it owns and what it sees.
struct SubordinateRange {
  uid_t first = 0;
  uint32_t count = 0;
  uid_t owner = 0;
  bool operator==(const SubordinateRange&) const = default;
};

struct SubordinateUids {
  std::vector<SubordinateRange> ranges;
  std::vector<std::string> complaints;  // for lines that are left out: "line 3: there is no user 'x'"
};

// Reads lines "owner:first:count"; the owner is a name or a uid. Root's ranges are left out: root gives them to
// containers of different people. A line that makes no sense is left out, with a complaint; the rest holds.
SubordinateUids ParseSubordinateUids(std::string_view text,
                                     const std::function<std::optional<uid_t>(const std::string&)>& uid_of);

// The uids of the accounts in lines as in passwd(5). A line without one is left out.
std::vector<uid_t> ParseAccountUids(std::string_view text);

// An account within somebody else's range is a person of its own: from here on it counts as itself. Returns these
// accounts.
std::vector<uid_t> SetApart(const std::vector<uid_t>& accounts, std::vector<SubordinateRange>& ranges);

// The owner of the first range that has `uid`; nothing where none has it.
std::optional<uid_t> OwnerOf(const std::vector<SubordinateRange>& ranges, uid_t uid);

struct UserRoles {
  Role everyone = Role::kNone;
  std::map<uid_t, Role> users;
  std::map<gid_t, Role> groups;
  // Users who are no persons, so nothing is started for them: kprofd's own user, and the system's stand-in for users
  // that have no number here (a container's).
  std::vector<uid_t> nobodies;
  std::vector<SubordinateRange> subordinates;

  bool operator==(const UserRoles&) const = default;
};

// The user that limits and turns count `uid` as: its owner, for a subordinate uid without a rule of its own; else
// itself.
uid_t AccountOf(const UserRoles& policy, uid_t uid);

// `groups`: all of the peer's, the first one included. Root is a viewer at least, but starts nothing unless a rule
// gives it a role.
Caller CallerOf(const UserRoles& policy, uid_t uid, const std::vector<gid_t>& groups);

}  // namespace kprof
