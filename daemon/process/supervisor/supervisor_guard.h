// A second process above a supervisor that no daemon is the parent of: kprofctl's, and the helper's. When the
// supervisor is killed, its tree comes to the guard, which ends it. When the supervisor does not end although its
// channel is closed (it is stopped, or hangs), the guard kills it. The guard holds the channel open to its own end, so
// the other end sees it close only when no process is left. A daemon that was killed and started anew has no other end.
// For it the guard holds the last file that came with the channel, and with it its lock (client_launcher.h). The guard
// removes the folder of outputs of a supervisor that was killed. It says nothing on the channel and takes nothing from
// it.
//
// If the guard is killed, the supervisor lives on and needs no guard.
#pragma once

#include <sys/types.h>

#include <functional>

namespace kprof {

// Memory shared by the guard and its supervisor, for the path of the folder of outputs (command_files.h). Null: there
// is none to be had.
char* MakeSharedFolderPath();

// Forks. Returns in the supervisor's process; the guard's first calls `close_in_guard`, for what the supervisor alone
// is to hold open, and ends in here, with the supervisor's exit status (kLaunchTree...). REQUIRES: one thread; SIGCHLD
// is blocked. Fails, returning errno, when no process can be made.
int ForkUnderGuard(int control_fd, int child_signal_fd, const char* output_folder,
                   const std::function<void()>& close_in_guard);

}  // namespace kprof
