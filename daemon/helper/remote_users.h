// As whom remote clients may start something: uids that root has listed, in a file that nobody else can write. kprofd
// says whom a certificate is, and the helper cannot see that; so it takes kprofd's word for these alone, and root has
// decided to trust it with them.
//
// The file has one user a line, a name or a uid; empty lines and those that begin with # say nothing.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/helper/caller_identity.h"
#include "daemon/helper/grant.h"
#include "storage/base/status.h"

namespace kprof {

// Whether the file lists the user. Fails with kNotPermitted and the remedy when it does not, is absent, or is not
// root's alone; with DirectoryIsAway() when it may be one of its names, and nobody could say. Reads it anew each time:
// asked when a run is registered, and again when it is to start.
//
// Asks for accounts (account.h), of each user that the file has by name: in a process of its own.
Status CheckRemoteUser(uint32_t uid, const std::string& file);

// The user as whom something may start, with the groups of the account. Fails as CheckRemoteUser does, when
// CheckCallerUid says no, or with NoAccount() when it has none and needs one. Where it needs none, it has no group but
// that of the same number. In a process of its own.
Result<CallerIdentity> ReadRemoteUser(uint32_t uid, const std::string& file, const CallerRules& rules);

}  // namespace kprof
