#include "storage/db/writer.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>

#include "storage/db/statement.h"

namespace kprof {
namespace {

// Compiled once, where the connection keeps statements.
Status Run(Db& db, const char* sql) {
  return Statement(db, sql).Run();
}

}  // namespace

Writer::Writer(Db db, const Options& options) : options_(options), db_(std::move(db)), thread_([this] { Work(); }) {}

Writer::~Writer() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Writer::Submit(Job job, Done done, Durability durability) {
  {
    MutexLock lock(mu_);
    if (queue_.size() < options_.queue_limit_jobs) {
      queue_.push_back({std::move(job), std::move(done), durability});
      wake_.notify_one();
      return;
    }
  }
  done(Fail(ErrorCode::kQueueFull, "write to the catalog",
            std::to_string(options_.queue_limit_jobs) + " changes are waiting already", "try again"));
}

Status Writer::SubmitAndWait(Job job, Durability durability) {
  std::mutex mu;
  std::condition_variable finished;
  std::optional<Status> result;
  auto done = [&](Status status) {
    std::lock_guard lock(mu);
    result = std::move(status);
    finished.notify_one();  // under the lock: the waiter's variables are gone once it has seen the result
  };
  Submit(std::move(job), done, durability);
  std::unique_lock lock(mu);
  finished.wait(lock, [&] { return result.has_value(); });
  return *std::move(result);
}

int64_t Writer::commits() const {
  MutexLock lock(mu_);
  return commits_;
}

void Writer::Work() {
  pthread_setname_np(pthread_self(), "kprofd-writer");
  const std::chrono::milliseconds idle(options_.checkpoint_idle_ms);
  bool folded_back = false;  // nothing was written since the last checkpoint
  std::vector<Entry> batch;
  while (AwaitBatch(folded_back ? std::nullopt : std::optional(idle), batch)) {
    if (batch.empty()) {
      sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
      folded_back = true;  // or not wholly, when readers are in the way: the next idle period goes on
      continue;
    }
    CommitBatch(batch);
    batch.clear();
    folded_back = false;
  }
  Settle();
}

bool Writer::AwaitBatch(std::optional<std::chrono::milliseconds> patience, std::vector<Entry>& batch) {
  MutexLock lock(mu_);
  auto has_news = [this]() KPROF_REQUIRES(mu_) { return stopping_ || !queue_.empty(); };
  if (!patience) {
    wake_.wait(mu_, has_news);
  } else if (!wake_.wait_for(mu_, *patience, has_news)) {
    return true;
  }
  const auto count = static_cast<ptrdiff_t>(std::min(queue_.size(), options_.batch_limit_jobs));
  std::move(queue_.begin(), queue_.begin() + count, std::back_inserter(batch));
  queue_.erase(queue_.begin(), queue_.begin() + count);
  return count > 0;
}

void Writer::CommitBatch(std::span<Entry> batch) {
  if (const Status ready = SyncAsAsked(batch); !ready.ok()) {
    for (Entry& entry : batch) entry.done(ready);
    return;
  }
  std::vector<Status> results(batch.size());
  std::optional<size_t> breaker = CommitTogether(batch, results);
  for (size_t i = 0; breaker.has_value() && i < batch.size(); ++i) {
    if (i != *breaker) CommitTogether(batch.subspan(i, 1), std::span(results).subspan(i, 1));
  }
  for (size_t i = 0; i < batch.size(); ++i) batch[i].done(std::move(results[i]));
}

// A batch is committed as the most careful of its jobs wants it. Not compiled once: SQLite does it as it compiles.
Status Writer::SyncAsAsked(std::span<const Entry> batch) {
  const bool now =
      std::any_of(batch.begin(), batch.end(), [](const Entry& entry) { return entry.durability == Durability::kNow; });
  const Durability wanted = now ? Durability::kNow : Durability::kLater;
  if (wanted == syncs_) return OkStatus();
  RETURN_IF_ERROR(db_.Execute(now ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  syncs_ = wanted;
  return OkStatus();
}

// One transaction for all of them. Returns the job after which there was no transaction any more, if there was one: its
// result stands, nothing of the others is in the database.
std::optional<size_t> Writer::CommitTogether(std::span<Entry> jobs, std::span<Status> results) {
  const auto began = std::chrono::steady_clock::now();
  auto observe = [&](const Status& committed) {
    if (!options_.on_commit) return;
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began;
    options_.on_commit(took.count(), jobs.size(), committed);
  };
  Status begun = Run(db_, "BEGIN IMMEDIATE");
  if (!begun.ok()) {
    observe(begun);
    std::fill(results.begin(), results.end(), begun);
    return std::nullopt;
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    results[i] = RunInSavepoint(jobs[i].job);
    if (db_.in_transaction()) continue;
    if (results[i].ok())
      results[i] = Fail(ErrorCode::kInternal, "write to the catalog", "the job ended its transaction");
    observe(results[i]);
    return i;
  }
  Status committed = Run(db_, "COMMIT");
  observe(committed);
  if (committed.ok()) {
    if (options_.changes != nullptr) options_.changes->Bump();
    MutexLock lock(mu_);
    ++commits_;
    return std::nullopt;
  }
  if (db_.in_transaction()) (void)db_.Execute("ROLLBACK");
  for (Status& result : results) {
    if (result.ok()) result = committed;
  }
  Settle();
  return std::nullopt;
}

Status Writer::RunInSavepoint(const Job& job) {
  RETURN_IF_ERROR(Run(db_, "SAVEPOINT job"));
  Status status = job(db_);
  if (status.ok()) status = Run(db_, "RELEASE job");
  if (status.ok() || !db_.in_transaction()) return status;
  // If the job cannot be undone alone, all of it is: the caller sees that the transaction is gone.
  if (!db_.Execute("ROLLBACK TO job; RELEASE job").ok()) (void)db_.Execute("ROLLBACK");
  return status;
}

// Folds the WAL back and empties it, unless readers are in the way or the disk refuses. Waits for no reader.
void Writer::Settle() {
  Result<int64_t> busy_timeout_ms = db_.QueryInteger("PRAGMA busy_timeout");
  sqlite3_busy_timeout(db_.handle(), 0);
  sqlite3_wal_checkpoint_v2(db_.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  sqlite3_busy_timeout(db_.handle(), busy_timeout_ms.ok() ? static_cast<int>(*busy_timeout_ms) : 0);
}

}  // namespace kprof
