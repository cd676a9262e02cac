// Keeps readers of parts open from one question to the next: opening one takes longer than most questions do. A reader
// is lent to one caller at a time; another caller for the same part gets another reader. Checks no access: callers
// authorise first.
//
// A deleted file frees its space when nobody has it open. So the pool keeps few readers, and none for long. It closes
// those below a folder that goes, and forgets their columns. It does not keep a reader that comes back when its file
// has gone.
//
// Any thread. Opening, closing and looking whether a file is there block, without the lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/trace/read/column_cache.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

class PartPool;

// Gives the reader back. REQUIRES: the pool is still there.
struct ReturnPart {
  PartPool* pool = nullptr;
  void operator()(PartReader* reader) const;
};
using PartLease = std::unique_ptr<PartReader, ReturnPart>;

class PartPool {
 public:
  struct Limits {
    size_t most_idle = 64;  // 0: none is kept
    int64_t idle_ms = 60'000;
  };

  // `columns` must outlive the pool, and the pool all leases.
  explicit PartPool(ColumnCache& columns) : PartPool(columns, Limits()) {}
  PartPool(ColumnCache& columns, Limits limits) : columns_(columns), limits_(limits) {}
  PartPool(const PartPool&) = delete;
  PartPool& operator=(const PartPool&) = delete;

  // A reader of the file that is there now. Fails as PartReader::Open does.
  Result<PartLease> Borrow(const std::string& path);

  // Both close readers that are not lent. CloseOld closes those that were not asked for as long as `idle_ms`; call it
  // from time to time. CloseBelow closes those of files below a folder; call it after the folder was moved or removed.
  void CloseOld();
  void CloseBelow(const std::string& folder);

  size_t idle() const;

 private:
  friend struct ReturnPart;
  using Clock = std::chrono::steady_clock;
  struct Idle {
    std::unique_ptr<PartReader> reader;
    Clock::time_point since;
  };

  void Return(std::unique_ptr<PartReader> reader);
  // The reader of that path that came back last; null: there is none.
  std::unique_ptr<PartReader> Take(const std::string& path);

  ColumnCache& columns_;
  const Limits limits_;
  mutable Mutex mu_;
  std::list<Idle> idle_ KPROF_GUARDED_BY(mu_);  // the last returned first
};

}  // namespace kprof
