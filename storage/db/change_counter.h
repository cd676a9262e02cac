// Counts the changes of something that many look at, so that whoever kept what it was like can tell whether it still
// is. Read the count first, then look: what changes in between makes the count another one.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace kprof {

class ChangeCounter {
 public:
  // After the change, before anybody is told of it.
  void Bump() { count_.fetch_add(1, std::memory_order_acq_rel); }
  uint64_t count() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> count_{1};
};

}  // namespace kprof
