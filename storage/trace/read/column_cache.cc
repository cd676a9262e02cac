#include "storage/trace/read/column_cache.h"

#include <iterator>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kColumnCostBytes = 256;  // of an entry beside its values
constexpr size_t kMostNumbers = 1 << 16;   // of parts, most of which are gone

int64_t BytesOf(const DecodedColumn& column) {
  return static_cast<int64_t>(column->size() * sizeof(int64_t)) + kColumnCostBytes;
}

}  // namespace

uint64_t ColumnCache::NumberOf(const std::string& identity) {
  const MutexLock lock(mu_);
  if (numbers_.size() >= kMostNumbers) numbers_.clear();
  const auto [found, is_new] = numbers_.try_emplace(identity, parts_ + 1);
  if (is_new) ++parts_;
  return found->second;
}

DecodedColumn ColumnCache::Find(const Key& key) {
  const MutexLock lock(mu_);
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  found->second->asked = Clock::now();
  return found->second->column;
}

void ColumnCache::Put(const Key& key, DecodedColumn column) {
  if (BytesOf(column) > budget_bytes_) return;
  Entries dropped;
  const MutexLock lock(mu_);
  if (places_.count(key) > 0) return;
  size_bytes_ += BytesOf(column);
  entries_.push_front({key, std::move(column), Clock::now()});
  places_.emplace(key, entries_.begin());
  while (size_bytes_ > budget_bytes_) Drop(std::prev(entries_.end()), dropped);
}

void ColumnCache::Drop(Entries::iterator entry, Entries& dropped) {
  size_bytes_ -= BytesOf(entry->column);
  places_.erase(entry->key);
  dropped.splice(dropped.end(), entries_, entry);
}

int64_t ColumnCache::DropOld(Clock::time_point since) {
  Entries dropped;
  const MutexLock lock(mu_);
  const int64_t before_bytes = size_bytes_;
  while (!entries_.empty() && entries_.back().asked < since) Drop(std::prev(entries_.end()), dropped);
  return before_bytes - size_bytes_;
}

int64_t ColumnCache::DropPart(const std::string& identity) {
  Entries dropped;
  const MutexLock lock(mu_);
  const int64_t before_bytes = size_bytes_;
  const auto number = numbers_.find(identity);
  if (number == numbers_.end()) return 0;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key.part == number->second) Drop(entry, dropped);
    entry = next;
  }
  numbers_.erase(number);
  return before_bytes - size_bytes_;
}

int64_t ColumnCache::size_bytes() const {
  const MutexLock lock(mu_);
  return size_bytes_;
}

}  // namespace kprof
