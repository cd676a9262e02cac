// Bounds on things that are under way at the same time: BoundedCount in all, Places in all and per user. A caller who
// gets no place is told so at once; nobody waits for one. Knows nothing of the things.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// How many things, or bytes, are taken, up to a limit.
class BoundedCount {
 public:
  explicit BoundedCount(int64_t limit) : limit_(limit) {}
  BoundedCount(const BoundedCount&) = delete;
  BoundedCount& operator=(const BoundedCount&) = delete;

  // Takes all of them, or none.
  bool Take(int64_t count) {
    int64_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (taken + count > limit_) return false;
    } while (!taken_.compare_exchange_weak(taken, taken + count, std::memory_order_relaxed));
    return true;
  }
  // Takes them even beyond the limit.
  void Add(int64_t count) { taken_.fetch_add(count, std::memory_order_relaxed); }
  void GiveBack(int64_t count) { taken_.fetch_sub(count, std::memory_order_relaxed); }

  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> taken_{0};
};

// At most so many things under way at a time, in all and of each user. Must outlive its places.
class Places {
 public:
  struct Options {
    int limit = 0;          // in all
    int limit_per_uid = 0;  // of one user
  };
  explicit Places(const Options& options) : options_(options) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // A place that is taken. Its destructor gives it back.
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
