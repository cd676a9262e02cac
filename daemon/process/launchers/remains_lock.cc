#include "daemon/process/launchers/remains_lock.h"

#include <sys/file.h>

#include <cerrno>

namespace kprof {

void HoldWithSupervisor(int held_fd) {
  (void)::flock(held_fd, LOCK_EX | LOCK_NB);
}

bool SomebodyHolds(int progress_fd) {
  if (::flock(progress_fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  (void)::flock(progress_fd, LOCK_UN);
  return false;
}

}  // namespace kprof
