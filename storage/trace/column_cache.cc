#include "storage/trace/column_cache.h"

#include <utility>

namespace kprof {
namespace {

constexpr int64_t kCostBytes = 256;  // of an entry beside its values

int64_t BytesOf(const DecodedColumn& column) {
  return static_cast<int64_t>(column->size() * sizeof(int64_t)) + kCostBytes;
}

}  // namespace

uint64_t ColumnCache::NewPart() {
  const MutexLock lock(mu_);
  return ++parts_;
}

DecodedColumn ColumnCache::Find(const Key& key) {
  const MutexLock lock(mu_);
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->column;
}

void ColumnCache::Put(const Key& key, DecodedColumn column) {
  if (BytesOf(column) > budget_bytes_) return;
  const MutexLock lock(mu_);
  if (places_.count(key) > 0) return;
  size_bytes_ += BytesOf(column);
  entries_.push_front({key, std::move(column)});
  places_.emplace(key, entries_.begin());
  while (size_bytes_ > budget_bytes_) {
    size_bytes_ -= BytesOf(entries_.back().column);
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

void ColumnCache::Forget(uint64_t part) {
  const MutexLock lock(mu_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->key.part != part) {
      ++entry;
      continue;
    }
    size_bytes_ -= BytesOf(entry->column);
    places_.erase(entry->key);
    entry = entries_.erase(entry);
  }
}

int64_t ColumnCache::size_bytes() const {
  const MutexLock lock(mu_);
  return size_bytes_;
}

}  // namespace kprof
