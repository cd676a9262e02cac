// Opens a file as a caller would: with the caller's uid, gid, groups and no capability. In a process that has become
// the caller for good (become_caller.h).
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

// Read-only, and regular files only: no devices, pipes or sockets, nothing of /proc or /sys, nothing through a link of
// /proc. Symbolic links are followed as far as this process may. Never waits for a writer or a lease; a file system
// that hangs is waited for.
Result<UniqueFd> OpenCallersFile(const std::string& path);

}  // namespace kprof
