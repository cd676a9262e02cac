// Bounds the memory that SQLite takes for one query, and ends it in the places where SQLite asks nobody else.
//
// Why not SQLite's own limits: they are per value (SQLITE_LIMIT_LENGTH) or for the whole process (the heap limit, which
// would fail the writer too). And preparing calls no progress handler: measured, 800 bytes of SQL (20 common table
// expressions, each joining the former with itself) take 2 GiB and 10 s to prepare, and each further line doubles it.
// So SQLite's allocator is replaced, once per process before main, by one that asks the quota of the running thread, if
// there is one. A refused allocation is SQLITE_NOMEM, which SQLite unwinds cleanly.
//
// Counts what is allocated and freed within scopes; everything of a query's connections is. One thread at a time.
// All quotas of the process together have a limit, too, so that neither many queries at once nor many that wait for
// their readers take more than that.
#pragma once

#include <cstdint>

#include "storage/base/status.h"
#include "storage/sandbox/work_budget.h"

namespace kprof {

class MemoryQuota {
 public:
  static constexpr int64_t kAllQuotasBytes = int64_t{512} << 20;

  // Memory is refused over `limit_bytes`, when all quotas together would have more than kAllQuotasBytes, and when
  // `budget` is spent.
  MemoryQuota(int64_t limit_bytes, WorkBudget& budget) : limit_bytes_(limit_bytes), budget_(budget) {}
  ~MemoryQuota();
  MemoryQuota(const MemoryQuota&) = delete;
  MemoryQuota& operator=(const MemoryQuota&) = delete;

  // While one lives, what this thread allocates through SQLite counts.
  class Scope {
   public:
    explicit Scope(MemoryQuota& quota);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryQuota* outer_;
  };

  // While one lives within a scope, what this thread allocates through SQLite counts for nobody: for what outlives the
  // query, or is bounded by itself. It must be freed within one, too.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    MemoryQuota* outer_;
  };

  // False when SQLite was in use before main, so that quotas do not work; queries must not be run then.
  static bool IsInstalled();

  // Counts memory that is not SQLite's, before it is taken; less than zero gives it back. Fails where it is refused,
  // with kUsage, kQueueFull or kCancelled.
  Status Take(int64_t bytes);
  // The same for what is found out of whole parts of traces, which does not depend on what is asked: it may be
  // kPartsTimes as much as the rest.
  static constexpr int64_t kPartsTimes = 4;
  Status TakeOfParts(int64_t bytes);

  // True once memory was refused for want of memory (not of time).
  bool exceeded() const { return exceeded_; }
  // True once memory was refused because all others have too much of it.
  bool crowded() const { return crowded_; }
  int64_t used_bytes() const { return used_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

  // For the allocator: whether `more_bytes` may be had; the difference an allocation made.
  bool Allows(int64_t more_bytes) noexcept;
  void Count(int64_t difference_bytes) noexcept;

 private:
  const int64_t limit_bytes_;
  WorkBudget& budget_;
  int64_t used_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  int64_t parts_bytes_ = 0;
  int64_t requests_ = 0;
  bool exceeded_ = false;
  bool crowded_ = false;
};

}  // namespace kprof
