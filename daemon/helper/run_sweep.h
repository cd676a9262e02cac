// Ends the processes that a run left: those that carry its marker in their environment, those below them, and orphans
// that came to the helper. Only those of the run's uid, and of user namespaces that this uid made (where it may be
// another), whatever they carry: nobody can make the helper end somebody else's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "daemon/helper/start_supervisor.h"
#include "daemon/process/helper_client/helper_protocol.h"

namespace kprof {

// True if the process is the uid's, as the kernel tells: by its real uid, which a setuid program does not change, or by
// the user who made the user namespace that it is in, where a user is free to be other uids. False also for a process
// that is gone.
bool BelongsTo(pid_t pid, uint32_t uid);

struct SweptRun {
  std::string run_id;
  uint32_t uid = 0;
  pid_t helper = 0;  // our parent; while it lives, orphans come to it
  StartPrograms programs;
};

// Returns how many processes were ended, and how many are left. Blocks, 10 s at most for those that hang in the kernel.
// Call it in a process of its own and let that finish: it stops processes before it ends them.
HelperSwept SweepRun(const SweptRun& run);

}  // namespace kprof
