// Threads for work that blocks or computes: files, SQL, parsing. WorkerPool is for jobs that end, DetachedWork for work
// that may hang for ever. A job is a function of its arguments; it keeps no state between jobs and hands its result
// back by IoLoop::Post. Knows nothing of the jobs.
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

// Work that may never return, each on a thread of its own. Nobody waits for that thread at the end, as WorkerPool does.
//
// Io loop only, except the work itself.
class DetachedWork {
 public:
  explicit DetachedWork(IoLoop& loop);
  // No answer comes from here on. The work may go on for as long as the process lives.
  ~DetachedWork();
  DetachedWork(const DetachedWork&) = delete;
  DetachedWork& operator=(const DetachedWork&) = delete;

  // `work` runs on another thread and owns all that it uses; the function that it returns runs on the loop. Fails with
  // kQueueFull when no thread can be made.
  Status Run(std::function<std::function<void()>()> work);

 private:
  struct Loop;  // null once nobody wants an answer
  const std::shared_ptr<Loop> loop_;
};

// A bounded queue of jobs, and the threads that do them.
//
// Submit: any thread. It never blocks: a job is refused (kQueueFull) when the queue is full, or when there is no thread
// and none can be started; the next Submit tries that again. A refused job never runs. A job whose stop token fires
// before its turn is still called: it checks its token and answers kCancelled itself, so nobody waits for an answer
// that never comes.
class WorkerPool {
 public:
  struct Options {
    size_t threads = 2;  // at most, made when needed; 0: a job runs inside Submit, for tests that need one order
    size_t queue_limit_jobs = 1024;
    int niceness = 0;  // of its threads, added to the process's: they stand back for the rest of it
  };
  explicit WorkerPool(const Options& options);
  // Calls End, if nobody has.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  Status Submit(std::function<void()> job);

  // Runs the queued jobs, then joins; a later Submit is refused. Stop your jobs first, through their tokens. Call it
  // yourself where others may still submit when the jobs must be over.
  void End();

  // Jobs done so far: a sign of life. Any thread.
  int64_t jobs_done() const { return jobs_done_.load(std::memory_order_relaxed); }

 private:
  Status Queue(std::function<void()> job) KPROF_REQUIRES(mu_);
  void StandBack() const;
  void Work();
  bool AddThread() KPROF_REQUIRES(mu_);
  // Wakes one thread for the queue, or starts one; that thread wakes the next one. If one thread woke several and then
  // slept, two of them might be put on one processor, and its own would stay idle.
  void CallOne() KPROF_REQUIRES(mu_);

  const Options options_;
  std::atomic<int64_t> jobs_done_{0};
  Mutex mu_;
  std::condition_variable_any wake_;
  std::deque<std::function<void()>> queue_ KPROF_GUARDED_BY(mu_);
  bool stopping_ KPROF_GUARDED_BY(mu_) = false;
  size_t idle_ KPROF_GUARDED_BY(mu_) = 0;             // threads that wait for a job
  bool one_is_called_ KPROF_GUARDED_BY(mu_) = false;  // a thread was woken and has not come yet
  std::vector<std::thread> threads_ KPROF_GUARDED_BY(mu_);
};

}  // namespace kprof
