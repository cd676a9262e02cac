#include "storage/sandbox/memory_quota.h"

#include <sqlite3.h>

#include <atomic>
#include <string>
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
  all_used_bytes.fetch_sub(used_bytes_ + parts_bytes_, std::memory_order_relaxed);
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

namespace {

Status TooMuch(int64_t limit_bytes) {
  return Fail(ErrorCode::kUsage, "hold an answer",
              "it needs more than " + std::to_string(limit_bytes) + " bytes of memory",
              "ask about fewer rows, or group by what has fewer or shorter values");
}

Status Crowded() {
  return Fail(
      ErrorCode::kQueueFull, "hold an answer",
      "all queries together need more than " + std::to_string(MemoryQuota::kAllQuotasBytes) + " bytes of memory",
      "try again in a moment");
}

}  // namespace

Status MemoryQuota::Take(int64_t bytes) {
  if (bytes > 0 && !Allows(bytes)) {
    if (used_bytes_ + bytes > limit_bytes_) return TooMuch(limit_bytes_);
    if (crowded_) return Crowded();
    return Fail(ErrorCode::kCancelled, "hold an answer", "the query has ended");
  }
  Count(bytes);
  return OkStatus();
}

Status MemoryQuota::TakeOfParts(int64_t bytes) {
  if (bytes > 0) {
    if (parts_bytes_ + bytes > limit_bytes_ * kPartsTimes) return TooMuch(limit_bytes_ * kPartsTimes);
    if (all_used_bytes.load(std::memory_order_relaxed) + bytes > kAllQuotasBytes) return Crowded();
  }
  parts_bytes_ += bytes;
  all_used_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return OkStatus();
}

void MemoryQuota::Count(int64_t difference_bytes) noexcept {
  used_bytes_ += difference_bytes;
  all_used_bytes.fetch_add(difference_bytes, std::memory_order_relaxed);
  if (used_bytes_ > peak_bytes_) peak_bytes_ = used_bytes_;
}

}  // namespace kprof
