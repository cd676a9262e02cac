// A bounded number of things under way at a time, in all and per user. Whoever gets no place is told so at once; nobody
// waits for one. Knows nothing of the things.
//
// Any thread. Must outlive its places.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// A number of things, or bytes, of which there may be so many at a time. Whoever gets no more is told so at once.
//
// Any thread.
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

class Places {
 public:
  struct Options {
    int limit = 0;          // in all
    int limit_per_uid = 0;  // of one user
  };
  explicit Places(const Options& options) : options_(options) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // Destroying it gives it back.
  class Place {
   public:
    Place(Place&& other) noexcept;
    Place& operator=(Place&& other) = delete;
    ~Place();

   private:
    friend class Places;
    Place(Places& places, uint32_t uid) : places_(&places), uid_(uid) {}
    Places* places_;  // none: moved from
    uint32_t uid_;
  };
  // Fails with kQueueFull: "`act`: as many `things` of uid 1000 as may be at a time are under way: 16".
  Result<Place> Take(uint32_t uid, const std::string& act, const std::string& things);

 private:
  const Options options_;
  Mutex mu_;
  int taken_ KPROF_GUARDED_BY(mu_) = 0;
  std::map<uint32_t, int> taken_by_uid_ KPROF_GUARDED_BY(mu_);  // no zeros
};

}  // namespace kprof
