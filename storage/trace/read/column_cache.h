// Columns of trace parts as they were decoded, kept for the next question within a budget: those that were not asked
// for the longest go first, and all that nobody asks for any more in the end. Parts never change, so what is here is
// never wrong.
//
// Any thread. A column that somebody holds lives on when it goes from here.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/base/mutex.h"

namespace kprof {

using DecodedColumn = std::shared_ptr<const std::vector<int64_t>>;

class ColumnCache {
 public:
  explicit ColumnCache(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  struct Key {
    uint64_t part = 0;  // of NumberOf
    int64_t column = 0;
    bool operator==(const Key&) const = default;
  };
  // The number of the part with this identity (which file it is): the same each time it is opened, so that what one
  // question decoded is there for the next.
  uint64_t NumberOf(const std::string& identity);

  // Null where it is not here.
  DecodedColumn Find(const Key& key);
  // One that is larger than the budget is not kept, and drives out none.
  void Put(const Key& key, DecodedColumn column);

  using Clock = std::chrono::steady_clock;
  // What nobody has asked for since then; what is of the part with this identity. How many bytes went.
  int64_t DropOld(Clock::time_point since);
  int64_t DropPart(const std::string& identity);

  int64_t size_bytes() const;

 private:
  struct Hash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.part * 0x9e3779b97f4a7c15u) ^
                                 static_cast<uint64_t>(key.column) * 0xff51afd7ed558ccdu);
    }
  };
  struct Entry {
    Key key;
    DecodedColumn column;
    Clock::time_point asked;
  };
  using Entries = std::list<Entry>;
  // Takes the entry out, into `dropped`, whose columns are to be freed without the lock.
  void Drop(Entries::iterator entry, Entries& dropped) KPROF_REQUIRES(mu_);

  const int64_t budget_bytes_;
  mutable Mutex mu_;
  uint64_t parts_ KPROF_GUARDED_BY(mu_) = 0;
  std::unordered_map<std::string, uint64_t> numbers_ KPROF_GUARDED_BY(mu_);
  Entries entries_ KPROF_GUARDED_BY(mu_);  // the last asked for first
  std::unordered_map<Key, Entries::iterator, Hash> places_ KPROF_GUARDED_BY(mu_);
  int64_t size_bytes_ KPROF_GUARDED_BY(mu_) = 0;
};

}  // namespace kprof
