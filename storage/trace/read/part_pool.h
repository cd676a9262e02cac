// Readers of parts, kept open from one question to the next: opening one takes longer than most questions do. Each is
// lent to one at a time; who asks for a part that is lent has another reader of it.
//
// Who may read what is not its business: it is told a path by who has asked that already.
// A deleted file frees its space when nobody has it open, so: few are kept, none for long, those below a folder that
// goes are closed with it, their columns forgotten, and a reader that comes back from a file that has gone is not kept.
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

// Gives the reader back. REQUIRES: the pool still is.
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

  // `columns` must outlive it, and it all leases.
  explicit PartPool(ColumnCache& columns) : PartPool(columns, Limits()) {}
  PartPool(ColumnCache& columns, Limits limits) : columns_(columns), limits_(limits) {}
  PartPool(const PartPool&) = delete;
  PartPool& operator=(const PartPool&) = delete;

  // A reader of the file that is there now. Fails as PartReader::Open does.
  Result<PartLease> Borrow(const std::string& path);

  // What is not lent: those that were not asked for as long as `idle_ms`; those of files below a folder.
  // To be called from time to time; after the folder was moved or removed.
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
  // The last one of that path; null: there is none.
  std::unique_ptr<PartReader> Take(const std::string& path);

  ColumnCache& columns_;
  const Limits limits_;
  mutable Mutex mu_;
  std::list<Idle> idle_ KPROF_GUARDED_BY(mu_);  // the last returned first
};

}  // namespace kprof
