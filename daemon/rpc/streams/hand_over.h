// Says in the code what gRPC's reactions promise: what was done before a call was given to gRPC (StartRead, StartWrite,
// Finish) happened before the reaction to it (OnReadDone, OnWriteDone, OnDone), on whatever thread that comes. gRPC
// keeps the promise with locks inside its library, where a thread sanitizer does not look; an atomic of ours it sees.
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace kprof {

class TsanHandoff {
 public:
  // Right before the call goes to gRPC.
  void Give() { given_.fetch_add(1, std::memory_order_release); }
  // First thing in the reaction.
  void Take() const { (void)given_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint32_t> given_{0};
};

}  // namespace kprof
