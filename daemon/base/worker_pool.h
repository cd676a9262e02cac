// Threads for work that blocks or computes: files, SQL, parsing. A job is a function of its arguments; it keeps no
// state between jobs and hands its result back by IoLoop::Post. Knows nothing of what it runs.
//
// Submit: any thread. When the queue is full a job is refused (kQueueFull), never blocked on; so it is where there is
// no thread at all and none can be started, which the next Submit tries again. A refused job never runs. Jobs whose
// stop token has fired by the time their turn comes are still called: each checks its token and answers kCancelled
// itself, so that nobody waits for an answer that never comes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "daemon/base/io_loop.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// Work that may never return: done on a thread of its own, for which nobody waits at the end. A WorkerPool would.
//
// Io loop only, but for the work itself.
class DetachedWork {
 public:
  explicit DetachedWork(IoLoop& loop);
  // No answer comes from here on; the work may still be under way, for as long as the process is there.
  ~DetachedWork();
  DetachedWork(const DetachedWork&) = delete;
  DetachedWork& operator=(const DetachedWork&) = delete;

  // `work` runs on another thread, and owns all that it uses; what it returns runs on the loop. Fails with kQueueFull
  // when no thread can be made.
  Status Run(std::function<std::function<void()>()> work);

 private:
  struct Loop;  // null once nobody wants an answer
  const std::shared_ptr<Loop> loop_;
};

class WorkerPool {
 public:
  struct Options {
    size_t threads = 2;  // at most, made as they are needed; 0: a job runs inside Submit, for tests of one order
    size_t queue_limit_jobs = 1024;
    int niceness = 0;  // of its threads, beyond that of the process: how far they stand back for the rest of it
  };
  explicit WorkerPool(const Options& options);
  // Ends it, if that was not done.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  Status Submit(std::function<void()> job);

  // Runs what is queued, then joins; what is submitted from here on is refused. Stop your jobs first, through their
  // tokens. For who has others that may still submit when the jobs must be over: those only learn that it is too late.
  void End();

  // So far: a sign of life. Any thread.
  int64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }

 private:
  Status Queue(std::function<void()> job) KPROF_REQUIRES(mu_);
  void StandBack() const;
  void Work();
  bool AddThread() KPROF_REQUIRES(mu_);
  // Has a thread come for what is queued, if there is one more. It calls the next one: who is called by a thread that
  // then goes to sleep, beside others, may be put on a processor with one of those, and its own left idle.
  void CallOne() KPROF_REQUIRES(mu_);

  const Options options_;
  std::atomic<int64_t> jobs_done_{0};
  Mutex mu_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> queue_ KPROF_GUARDED_BY(mu_);
  bool stopping_ KPROF_GUARDED_BY(mu_) = false;
  size_t idle_ KPROF_GUARDED_BY(mu_) = 0;             // threads that wait for a job
  bool one_is_called_ KPROF_GUARDED_BY(mu_) = false;  // and has not come yet
  std::vector<std::thread> threads_ KPROF_GUARDED_BY(mu_);
};

}  // namespace kprof
