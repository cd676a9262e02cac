// Reads [access] and [limits] of the configuration file: who may call, and how much. Names of users and groups are
// looked up here, once. A name that nobody has is a complaint with its line: else a role that somebody counts on would
// be missing in silence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/access/call_admission.h"
#include "daemon/access/user_roles.h"
#include "daemon/config/toml_table.h"

namespace kprof {

// The configured limits of what each user may have stored. storage_limits.h keeps to them.
struct StoragePolicy {
  int64_t runs_per_uid = 0;                // and as many sessions; 0: no limit
  std::optional<int64_t> bytes_per_uid{};  // 0: no limit; none: a fair part of the file system
  bool operator==(const StoragePolicy&) const = default;
};

// Both leave alone what the table does not name, or names wrongly.
void ReadAccess(const toml::table& table, ConfigErrors& complaints, UserRoles& policy);
// `longest_run_ms`: as in Config.
void ReadLimits(const toml::table& table, ConfigErrors& complaints, ConnectionLimits& limits, StoragePolicy& storage,
                int64_t& longest_run_ms);

// Reads the subordinate uids of users; without the file there are none. A line that cannot be used is for the log
// alone: the file is not ours, and others' mistakes keep no daemon from starting. Accounts of this machine (`passwd`)
// that lie within somebody's range count as themselves.
void ReadSubordinates(UserRoles& policy, const std::string& path = "/etc/subuid",
                      const std::string& passwd = "/etc/passwd");

// The access in system mode, before a file says otherwise: everyone is a viewer, root an admin. kprofd's own user may
// look, whatever the file says, and starts nothing: the restart after an upgrade asks as that user what is under way.
UserRoles DefaultSystemAccess(uid_t own_uid);
// The access in user mode: its user and root, who could be anybody, are admins. Nobody else has business here.
UserRoles UserAccess(uid_t own_uid);

}  // namespace kprof
