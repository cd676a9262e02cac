#include "storage/db/reader_pool.h"

#include <chrono>
#include <utility>

namespace kprof {

ReaderPool::ReaderPool(std::string path, const Options& options) : path_(std::move(path)), options_(options) {}

ReaderPool::~ReaderPool() {
  MutexLock lock(mu_);
  KPROF_CHECK(out_ == 0);
}

ReaderPool::Lease::~Lease() {
  if (db_ != nullptr) pool_->Return(std::move(db_));
}

Result<ReaderPool::Lease> ReaderPool::Borrow(std::stop_token stop) {
  std::unique_ptr<Db> db;
  {
    MutexLock lock(mu_);
    auto is_free = [this]() KPROF_REQUIRES(mu_) { return out_ < options_.limit; };
    if (!returned_.wait_for(mu_, stop, std::chrono::milliseconds(options_.wait_ms), is_free)) {
      if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "read catalog", "no longer wanted");
      return Fail(
          ErrorCode::kQueueFull, "read catalog",
          "all " + std::to_string(options_.limit) + " readers are busy for " + std::to_string(options_.wait_ms) + " ms",
          "try again");
    }
    ++out_;
    if (!idle_.empty()) {
      db = std::move(idle_.back());  // the one used last: the others' caches stay small
      idle_.pop_back();
    }
  }
  if (db == nullptr) {
    Result<Db> opened = Db::Open(path_, options_.db);
    if (!opened.ok()) {
      Return(nullptr);
      return opened.status();
    }
    db = std::make_unique<Db>(*std::move(opened));
  }
  Lease lease(*this, std::move(db));
  RETURN_IF_ERROR(lease->Execute("BEGIN"));  // cheaper than a lock for each statement, too
  return lease;
}

void ReaderPool::Return(std::unique_ptr<Db> db) {
  if (db != nullptr && db->in_transaction() && !db->Execute("ROLLBACK").ok()) db = nullptr;
  {
    MutexLock lock(mu_);
    --out_;
    if (db != nullptr) idle_.push_back(std::move(db));
  }
  returned_.notify_one();
}

}  // namespace kprof
