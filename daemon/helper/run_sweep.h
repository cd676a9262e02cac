// Ends what a run left: processes that carry its marker in their environment and those below them, and orphans that
// came to the helper. Of the run's uid only, and of user namespaces that this uid made (where it may be another),
// whatever they carry: nobody can make the helper end somebody else's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "daemon/helper/start_supervisor.h"
#include "daemon/process/helper_client/helper_protocol.h"

namespace kprof {

// Whose a process is, as the kernel says it: its real uid, which a setuid program does not change, or the user who made
// the user namespace that it is in, where a user is free to be other uids.

// False for a process that is gone, too.
bool BelongsTo(pid_t pid, uint32_t uid);

struct SweptRun {
  std::string run_id;
  uint32_t uid = 0;
  pid_t helper = 0;  // our parent, whose orphans they may be as long as it lives
  StartPrograms programs;
};

// How many processes were ended, and how many are left. Blocking, 10 s at most for what hangs in the kernel: in a
// process of its own, which should be let finish: what it looks at it stops first.
HelperSwept SweepRun(const SweptRun& run);

}  // namespace kprof
