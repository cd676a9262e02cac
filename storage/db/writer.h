// The one writing connection, on its own thread, with a bounded queue. Jobs that wait together are committed together
// (one fdatasync for many), each inside its own savepoint, so one that fails takes no other with it.
// Knows no tables: a job is a function over the Db.
//
// Any thread may Submit. `done` is called on the writer thread after the commit is as durable as was asked for, or with
// the reason why this job is not in the database; post it to where it belongs. Jobs are committed, and their `done`
// called, in the order of Submit.
//
// A commit that fails fails all of its jobs. When a failing job takes the whole transaction with it (SQLite does so on
// a full or broken disk), the others are run again, each alone: so a job may run twice, and changes nothing but the Db.
// A commit that failed in its very last step, the sync, might be found in the WAL after a crash. A failed commit is
// therefore followed by an attempt to empty the WAL; only a disk that refuses this too leaves that doubt.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// Counts the changes of a thing that many read, so that a reader who kept an answer can tell if it is still true. Read
// the count first, then the thing: a change in between then shows as another count.
//
// Any thread.
class ChangeCounter {
 public:
  // Call it after the change, before anybody is told of it.
  void Bump() { count_.fetch_add(1, std::memory_order_acq_rel); }
  uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> count_{1};
};

// The events that a commit survives. Every commit survives the death of the process at once.
enum class Durability : uint8_t {
  kNow,    // survives a loss of power, too
  kLater,  // so does this one once a later commit does; until then a loss of power may undo it and all later ones
};

class Writer {
 public:
  using Job = std::function<Status(Db&)>;
  using Done = std::function<void(Status)>;

  struct Options {
    size_t queue_limit_jobs = 4096;
    size_t batch_limit_jobs = 256;
    // The WAL is folded back into the database after this long without a job, once.
    int checkpoint_idle_ms = 1000;
    // Counts each commit, before its jobs are told; null: nobody counts. Outlives the writer.
    ChangeCounter* changes = nullptr;
    // Called on the writer thread for each transaction: how long it took, its sync included, how many jobs were in it,
    // and if it is in the database. May be empty.
    std::function<void(int64_t took_ns, size_t jobs, const Status& committed)> on_commit;
  };

  // Takes over an open read-write connection.
  Writer(Db db, const Options& options);
  // Commits what is queued, checkpoints, closes.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // When the queue is full: calls `done` at once, on this thread, with kQueueFull.
  void Submit(Job job, Done done, Durability durability = Durability::kNow);
  // Waits for the commit. Not from the io loop, not from a `done`.
  Status SubmitAndWait(Job job, Durability durability = Durability::kNow);

  // The number of commits so far: a sign of life.
  int64_t commits() const;

 private:
  struct Entry {
    Job job;
    Done done;
    Durability durability;
  };
  void Work();
  // Waits for jobs, at most `patience` if it is set, and takes some. False: the writer is to end.
  bool AwaitBatch(std::optional<std::chrono::milliseconds> patience, std::vector<Entry>& batch);
  void CommitBatch(std::span<Entry> batch);
  Status SyncAsAsked(std::span<const Entry> batch);
  std::optional<size_t> CommitTogether(std::span<Entry> jobs, std::span<Status> results);
  Status RunInSavepoint(const Job& job);
  void Settle();

  const Options options_;
  Db db_;                                // writer thread only, after construction
  Durability syncs_ = Durability::kNow;  // the same: how it commits

  mutable Mutex mu_;
  std::condition_variable_any wake_;
  std::deque<Entry> queue_ KPROF_GUARDED_BY(mu_);
  bool stopping_ KPROF_GUARDED_BY(mu_) = false;
  int64_t commits_ KPROF_GUARDED_BY(mu_) = 0;

  std::thread thread_;  // last: starts when all else is ready
};

}  // namespace kprof
