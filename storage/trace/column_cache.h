// Columns of trace parts as they were decoded, kept for the next question within a budget: those that were not asked
// for the longest go first. Parts never change, so what is here is never wrong.
//
// Any thread. A column that somebody holds lives on when it goes from here.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "storage/base/mutex.h"

namespace kprof {

using DecodedColumn = std::shared_ptr<const std::vector<int64_t>>;

class ColumnCache {
 public:
  explicit ColumnCache(int64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  struct Key {
    uint64_t part = 0;  // of NewPart
    int64_t column = 0;
    bool operator==(const Key&) const = default;
  };
  // A number for a part that is opened: of its own, as long as this lives.
  uint64_t NewPart();

  // Null where it is not here.
  DecodedColumn Find(const Key& key);
  // One that is larger than the budget is not kept, and drives out none.
  void Put(const Key& key, DecodedColumn column);
  // All of a part that is closed.
  void Forget(uint64_t part);

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
  };
  const int64_t budget_bytes_;
  mutable Mutex mu_;
  uint64_t parts_ KPROF_GUARDED_BY(mu_) = 0;
  std::list<Entry> entries_ KPROF_GUARDED_BY(mu_);  // the last used first
  std::unordered_map<Key, std::list<Entry>::iterator, Hash> places_ KPROF_GUARDED_BY(mu_);
  int64_t size_bytes_ KPROF_GUARDED_BY(mu_) = 0;
};

}  // namespace kprof
