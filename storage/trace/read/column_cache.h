// A cache of decoded columns of trace parts, within a budget. Columns that nobody asked for the longest go first;
// DropOld removes those that nobody asks for any more. Parts never change, so a cached column is never wrong.
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
  // The number of the part with this identity (which file it is): the same each time the part is opened, so the next
  // question finds the columns that one question decoded.
  uint64_t NumberOf(const std::string& identity);

  // Null when it is not here.
  DecodedColumn Find(const Key& key);
  // A column larger than the budget is not kept, and drives out no other.
  void Put(const Key& key, DecodedColumn column);

  using Clock = std::chrono::steady_clock;
  // Remove the columns that nobody has asked for since then, or those of the part with this identity. Return the number
  // of bytes that went.
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
