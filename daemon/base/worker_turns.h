// Threads that users share in turns: the next job is one of the user who was served longest ago, and no user has all
// threads at a time, so that another one's job begins at once. Jobs are as those of WorkerPool; each of them ends soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "daemon/base/worker_pool.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// Submit: any thread; it never blocks, and refuses a job as WorkerPool::Submit does. A user's jobs begin in their
// order.
class WorkerTurns {
 public:
  // One thread: it serves all; else one of them is left for other users than the busiest.
  explicit WorkerTurns(const WorkerPool::Options& options);
  WorkerTurns(const WorkerTurns&) = delete;
  WorkerTurns& operator=(const WorkerTurns&) = delete;

  Status Submit(uint32_t user, std::function<void()> job);

  // Runs the jobs that are queued, then joins. As WorkerPool::End.
  void End() { pool_.End(); }

 private:
  struct User {
    std::deque<std::pair<int64_t, std::function<void()>>> jobs;  // with their numbers
    size_t running = 0;
    int64_t served = 0;  // the number of its last turn
  };
  using Users = std::map<uint32_t, User>;
  void TakeTurns();
  Users::iterator NextUser() KPROF_REQUIRES(mu_);

  const size_t most_of_one_;
  Mutex mu_;
  Users users_ KPROF_GUARDED_BY(mu_);  // those with jobs
  int64_t submitted_ KPROF_GUARDED_BY(mu_) = 0;
  int64_t turns_ KPROF_GUARDED_BY(mu_) = 0;
  size_t owed_ KPROF_GUARDED_BY(mu_) = 0;  // jobs for which a thread came when their users had as many as they may
  WorkerPool pool_;                        // last: its threads use what stands above
};

}  // namespace kprof
