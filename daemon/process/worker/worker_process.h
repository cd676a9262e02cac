// Starts a program as a child that is talked to: it gets the descriptors that it is to have as 3, 4 and so on,
// a process group of its own, our environment (its vendor's library reads settings of its own there), and our stderr.
// Of our other descriptors it has none.
//
// Never blocks for longer than a vfork. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "daemon/process/worker/own_children.h"
#include "storage/base/status.h"
#include "storage/base/unique_fd.h"

namespace kprof {

inline constexpr int kFirstWorkerFile = 3;

struct WorkerProcess {
  pid_t pid = -1;
  UniqueFd exit;  // a pidfd: readable when it has ended; whoever has this reaps it
};

// `own`: where children of this process are entered; null: nowhere. Fails with kToolMissing where there is no such
// program, kSpawnFailed where it cannot be started.
// `first_file`: 0 makes the files its standard input and output, for a program that hands these on.
Result<WorkerProcess> StartWorker(const std::string& program, const std::vector<std::string>& arguments,
                                  const std::vector<int>& files, OwnChildren* own, int first_file = kFirstWorkerFile);

// REQUIRES: it has ended, or has been killed. Waits for it, and says how it ended: "with status 1", "by SIGSEGV".
std::string ReapWorker(pid_t pid, OwnChildren* own);

}  // namespace kprof
