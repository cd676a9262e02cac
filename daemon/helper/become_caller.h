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

#include "daemon/helper/grant.h"

namespace kprof {

// Where it stopped; `step` null: done.
struct BecomeFailure {
  const char* step = nullptr;
  int error = 0;  // errno
};

// Keeps descriptors 0 to `last_kept_fd`; the caller has put there what the program is to get.
BecomeFailure BecomeCaller(const CallerIdentity& caller, int last_kept_fd);

}  // namespace kprof
