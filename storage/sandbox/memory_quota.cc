#include "storage/sandbox/memory_quota.h"

#include <sqlite3.h>

#include <atomic>
#include <utility>

namespace kprof {
namespace {

constexpr int64_t kRequestsPerClockReading = 256;

thread_local MemoryQuota* current_quota = nullptr;

// Of all quotas. Asked and added to in two steps: some threads' requests may go over, by their size.
std::atomic<int64_t> all_used_bytes = 0;

// Set once, before main.
sqlite3_mem_methods system_methods;

void* Allocate(int size) noexcept {
  MemoryQuota* quota = current_quota;
  if (quota == nullptr) return system_methods.xMalloc(size);
  if (!quota->Allows(size)) return nullptr;
  void* memory = system_methods.xMalloc(size);
  if (memory != nullptr) quota->Count(system_methods.xSize(memory));
  return memory;
}

void Free(void* memory) noexcept {
  if (current_quota != nullptr && memory != nullptr) current_quota->Count(-int64_t{system_methods.xSize(memory)});
  system_methods.xFree(memory);
}

void* Resize(void* memory, int size) noexcept {
  MemoryQuota* quota = current_quota;
  if (quota == nullptr) return system_methods.xRealloc(memory, size);
  const int64_t before = system_methods.xSize(memory);
  if (!quota->Allows(size - before)) return nullptr;
  void* moved = system_methods.xRealloc(memory, size);
  if (moved != nullptr) quota->Count(system_methods.xSize(moved) - before);
  return moved;
}

bool Install() {
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_methods) != SQLITE_OK) return false;
  sqlite3_mem_methods methods = system_methods;
  methods.xMalloc = Allocate;
  methods.xFree = Free;
  methods.xRealloc = Resize;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK;
}

const bool installed = Install();

}  // namespace

MemoryQuota::Scope::Scope(MemoryQuota& quota) : outer_(std::exchange(current_quota, &quota)) {}
MemoryQuota::Scope::~Scope() {
  current_quota = outer_;
}

MemoryQuota::Pause::Pause() : outer_(std::exchange(current_quota, nullptr)) {}
MemoryQuota::Pause::~Pause() {
  current_quota = outer_;
}

MemoryQuota::~MemoryQuota() {
  all_used_bytes.fetch_sub(used_bytes_, std::memory_order_relaxed);
}

bool MemoryQuota::IsInstalled() {
  return installed;
}

bool MemoryQuota::Allows(int64_t more_bytes) noexcept {
  if (++requests_ % kRequestsPerClockReading == 0 && budget_.IsSpent()) return false;
  if (used_bytes_ + more_bytes > limit_bytes_) {
    exceeded_ = true;
    return false;
  }
  if (more_bytes > 0 && all_used_bytes.load(std::memory_order_relaxed) + more_bytes > kAllQuotasBytes) {
    crowded_ = true;
    return false;
  }
  return true;
}

void MemoryQuota::Count(int64_t difference_bytes) noexcept {
  used_bytes_ += difference_bytes;
  all_used_bytes.fetch_add(difference_bytes, std::memory_order_relaxed);
  if (used_bytes_ > peak_bytes_) peak_bytes_ = used_bytes_;
}

}  // namespace kprof
