// Whether anybody is left of a supervisor that another daemon launched, seen from outside: its progress file, opened
// for reading, is locked (flock) and handed over, and the lock is everybody's who holds that open file: the supervisor,
// its keeper, the daemon of then. When all of them are gone, and with them what they look after (supervisor_guard.h),
// it is free. Nothing is written, no process is looked for, and a pid that is used anew deceives nobody.
//
// It is the word of those who hold it: processes of the run's own user.
// Any thread; waits for nobody.
#pragma once

namespace kprof {

// The open file that is handed over. Where the file system has no locks, nobody will seem to be left.
void HoldWithSupervisor(int held_fd);

// `progress_fd`: the same file, opened anew.
bool SomebodyHolds(int progress_fd);

}  // namespace kprof
