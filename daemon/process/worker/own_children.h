// The children that this process started itself, and waits for itself. All others have come to it as subreaper: orphans
// that are ended and reaped (process_sweep.h). Whoever starts a child in the daemon enters it here, in one step with
// starting it.
//
// Any thread: a sweep asks from a worker while the io loop starts children, hence the mutex.
#pragma once

#include <sys/types.h>

#include <set>

#include "storage/base/mutex.h"

namespace kprof {

class OwnChildren {
 public:
  // Calls `start`, which returns the pid of a new child or -1, and enters it before anyone can ask. `start` is short.
  template <typename Start>
  pid_t Add(Start start) {
    MutexLock lock(mu_);
    pid_t pid = start();
    if (pid > 0) pids_.insert(pid);
    return pid;
  }
  // REQUIRES: it has been waited for.
  void Remove(pid_t pid) {
    MutexLock lock(mu_);
    pids_.erase(pid);
  }
  bool Has(pid_t pid) const {
    MutexLock lock(mu_);
    return pids_.contains(pid);
  }

 private:
  mutable Mutex mu_;
  std::set<pid_t> pids_ KPROF_GUARDED_BY(mu_);
};

}  // namespace kprof
