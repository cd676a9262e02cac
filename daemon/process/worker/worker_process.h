// Worker processes: starts a program as a child that is talked to. The child gets its descriptors as 3, 4 and so on, a
// process group of its own, our environment (its vendor's library reads settings of its own there), and our stderr. It
// gets none of our other descriptors.
//
// Never blocks for longer than a vfork. Any thread.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "storage/base/descriptors.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// The children that this process started itself, and waits for itself. All others have come to it as subreaper: orphans
// that are ended and reaped (process_sweep.h). Code of the daemon that starts a child enters it here, in one step with
// starting it.
//
// Any thread: a sweep asks from a worker while the io loop starts children, hence the mutex.
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

inline constexpr int kFirstWorkerFile = 3;

struct WorkerProcess {
  pid_t pid = -1;
  UniqueFd exit;  // a pidfd: readable when it has ended; whoever has this reaps it
};

// `own`: where children of this process are entered; null: nowhere. `first_file`: 0 makes the files its standard input
// and output, for a program that hands these on. Fails with kToolMissing where there is no such program, kSpawnFailed
// where it cannot be started.
Result<WorkerProcess> StartWorker(const std::string& program, const std::vector<std::string>& arguments,
                                  const std::vector<int>& files, OwnChildren* own, int first_file = kFirstWorkerFile);

// REQUIRES: it has ended, or has been killed. Waits for it, and says how it ended: "with status 1", "by SIGSEGV".
std::string ReapWorker(pid_t pid, OwnChildren* own);

}  // namespace kprof
