// Turns a process of the root helper into one of a caller's, for good: a session and a session keyring of its own,
// the caller's uid, gid and groups, no capability in any set, and of descriptors only what is named. Signals, umask,
// scheduling, out-of-memory score and folder are as a new process has them.
//
// no_new_privs is not set: a caller's command may run setuid programs as it could anywhere else. But the bounding set
// is empty, so what those programs get is uid 0 without capabilities. Where systemd runs the command gets a unit
// instead (start_supervisor.h), and a foreground capture has all that its caller has.
//
// Between fork and exec, in a process with one thread. After a failure the process must end.
#pragma once

#include <string>
#include <vector>

#include "daemon/helper/grant_store.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Opens a file as a caller would: with the caller's uid, gid, groups and no capability. In a process that has become
// the caller for good (become_caller.h).

// Read-only, and regular files only: no devices, pipes or sockets, nothing of /proc or /sys, nothing through a link of
// /proc. Symbolic links are followed as far as this process may. Never waits for a writer or a lease; a file system
// that hangs is waited for.
Result<UniqueFd> OpenCallersFile(const std::string& path);

// Where it stopped; `step` null: done.
struct BecomeFailure {
  const char* step = nullptr;
  int error = 0;  // errno
};

// Keeps descriptors 0 to `last_kept_fd`; the caller has put there what the program is to get.
BecomeFailure BecomeCaller(const CallerIdentity& caller, int last_kept_fd);

}  // namespace kprof
