// A second process above a supervisor, for where no daemon is its parent: kprofctl's, and the helper's. When the
// supervisor is killed, its tree comes to the guard, which ends it; when the supervisor does not end although its
// channel is closed (it is stopped, or hangs), the guard kills it. The guard holds the channel open to its own end:
// so whoever is at the other end sees it close only when nothing is left. For a daemon that was killed and started
// anew, which has no other end, it holds the last file that came with the channel, and with it its lock
// (client_launcher.h). It removes the folder of outputs of a supervisor that did not end by itself. Says nothing
// on the channel and takes nothing from it.
//
// A guard that is killed leaves the supervisor as it is, which is whole without it.
#pragma once

#include <sys/types.h>

namespace kprof {

// Memory that both have, for the path of the folder of outputs (command_files.h). Null: there is none to be had.
char* MakeSharedFolderPath();

// Forks. Returns in the supervisor's process; the guard's ends in here, with the supervisor's exit status
// (kLaunchTree...). REQUIRES: one thread; SIGCHLD is blocked. Fails, returning errno,
// when no process can be made.
int ForkUnderGuard(int control_fd, int child_signal_fd, const char* output_folder);

}  // namespace kprof
