// Whose a process is, as the kernel says it: its real uid, which a setuid program does not change, or the user who made
// the user namespace that it is in, where a user is free to be other uids.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace kprof {

// False for a process that is gone, too.
bool BelongsTo(pid_t pid, uint32_t uid);

}  // namespace kprof
