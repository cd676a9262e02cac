// A number of things, or bytes, of which there may be so many at a time. Whoever gets no more is told so at once.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace kprof {

class BoundedCount {
 public:
  explicit BoundedCount(int64_t limit) : limit_(limit) {}
  BoundedCount(const BoundedCount&) = delete;
  BoundedCount& operator=(const BoundedCount&) = delete;

  // All of them, or none.
  bool Take(int64_t count) {
    int64_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (taken + count > limit_) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + count, std::memory_order_relaxed));
    return true;
  }
  // Counts them whether there is room or not.
  void Add(int64_t count) { taken_.fetch_add(count, std::memory_order_relaxed); }
  void GiveBack(int64_t count) { taken_.fetch_sub(count, std::memory_order_relaxed); }

  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> taken_{0};
};

}  // namespace kprof
