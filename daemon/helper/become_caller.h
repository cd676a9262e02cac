// Turns a process of the root helper into one of a caller's, for good: a session and a session keyring of its own, the
// caller's uid, gid and groups, no capability in any set, and no descriptors but the named ones. Signals, umask,
// scheduling, out-of-memory score and folder are as a new process has them. Such a process can then open files as the
// caller would.
//
// no_new_privs is not set: a caller's command may run setuid programs as it could anywhere else. But the bounding set
// is empty, so those programs get uid 0 without capabilities. Where systemd runs, the command gets a unit instead
// (start_supervisor.h), and a foreground capture has all that its caller has.
//
// Between fork and exec, in a process with one thread. After a failure the process must end.
#pragma once

#include <string>
#include <vector>

#include "daemon/helper/grant_store.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Opens a file as the caller would. REQUIRES: this process has become the caller (BecomeCaller). Read-only, and regular
// files only: no devices, pipes or sockets, nothing of /proc or /sys, nothing through a link of /proc. Symbolic links
// are followed as far as this process may. Never waits for a writer or a lease; a file system that hangs is waited for.
Result<UniqueFd> OpenCallersFile(const std::string& path);

// The step that failed; `step` null: none did.
struct BecomeFailure {
  const char* step = nullptr;
  int error = 0;  // errno
};

// Keeps descriptors 0 to `last_kept_fd`; the caller of this has put the program's descriptors there.
BecomeFailure BecomeCaller(const CallerIdentity& caller, int last_kept_fd);

}  // namespace kprof
