#include "storage/trace/column_cache.h"

#include <utility>

namespace kprof {
namespace {

constexpr int64_t kCostBytes = 256;       // of an entry beside its values
constexpr size_t kMostNumbers = 1 << 16;  // of parts, most of which are gone

int64_t BytesOf(const DecodedColumn& column) {
  return static_cast<int64_t>(column->size() * sizeof(int64_t)) + kCostBytes;
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

int64_t ColumnCache::size_bytes() const {
  const MutexLock lock(mu_);
  return size_bytes_;
}

}  // namespace kprof
