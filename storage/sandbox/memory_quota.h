// Bounds the memory that SQLite takes for one query, and ends the query where SQLite asks nobody else.
//
// Why not SQLite's own limits: they are per value (SQLITE_LIMIT_LENGTH) or for the whole process (the heap limit, which
// would fail the writer too). And preparing calls no progress handler: measured, 800 bytes of SQL (20 common table
// expressions, each joining the former with itself) take 2 GiB and 10 s to prepare, and each further line doubles it.
// So SQLite's allocator is replaced, once per process before main. The new one asks the quota of the running thread, if
// there is one. A refused allocation is SQLITE_NOMEM, which SQLite unwinds cleanly.
//
// Counts memory that is allocated and freed within scopes; all work of a query's connections is within one. One thread
// at a time. All quotas of the process together have a limit, too: neither many queries at once nor many that wait for
// their readers can take more.
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

  // While one lives, SQLite allocations of this thread count.
  class Scope {
   public:
    explicit Scope(MemoryQuota& quota);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryQuota* outer_;
  };

  // While one lives within a scope, SQLite allocations of this thread do not count: for memory that outlives the query,
  // or has its own bound. It must be freed within a Pause, too.
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

  // Counts memory that is not SQLite's, before it is taken; a negative number gives it back. Fails with kUsage,
  // kQueueFull or kCancelled when it is refused.
  Status Take(int64_t bytes);
  // The same for results from whole parts of traces, whose size does not depend on the question. They may take
  // kPartsTimes as much as the limit.
  static constexpr int64_t kPartsTimes = 4;
  Status TakeOfParts(int64_t bytes);

  // True once memory was refused because the query was over its limit (not its time).
  bool exceeded() const { return exceeded_; }
  // True once memory was refused because all queries together have too much.
  bool crowded() const { return crowded_; }
  int64_t used_bytes() const { return used_bytes_; }
  int64_t peak_bytes() const { return peak_bytes_; }

  // For the allocator. Allows is asked before an allocation, Count is told the difference after it.
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
