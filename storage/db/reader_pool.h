// Read-only connections, lent one per job and given back by the lease's destructor. Connections are opened when first
// needed and kept, at most `limit`. A lease reads the database as it was at the lease's first read. So a lease that is
// kept for long keeps the WAL from shrinking.
//
// Any thread. Borrow waits until one is free or the stop token fires (kCancelled), or `wait_ms` has passed
// (kQueueFull).
#pragma once

#include <condition_variable>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

class ReaderPool {
 public:
  struct Options {
    size_t limit = 4;
    int wait_ms = 10000;
    Db::Options db;
  };
  ReaderPool(std::string path, const Options& options);
  // REQUIRES: no lease is out.
  ~ReaderPool();

  class Lease {
   public:
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Db& operator*() { return *db_; }
    Db* operator->() { return db_.get(); }

   private:
    friend class ReaderPool;
    Lease(ReaderPool& pool, std::unique_ptr<Db> db) : pool_(&pool), db_(std::move(db)) {}
    ReaderPool* pool_;
    std::unique_ptr<Db> db_;
  };

  Result<Lease> Borrow(std::stop_token stop = {});

 private:
  void Return(std::unique_ptr<Db> db);

  const std::string path_;
  const Options options_;

  Mutex mu_;
  std::condition_variable_any returned_;
  std::vector<std::unique_ptr<Db>> idle_ KPROF_GUARDED_BY(mu_);
  size_t out_ KPROF_GUARDED_BY(mu_) = 0;
};

}  // namespace kprof
