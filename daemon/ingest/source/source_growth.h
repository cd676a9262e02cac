// How far a source has come that is read while it still comes: told by who takes it in, waited for by those who read.
//
// Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>

#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

class SourceGrowth {
 public:
  struct State {
    int64_t bytes = 0;      // that are in its file and can be read
    bool is_whole = false;  // no more will come
    bool operator==(const State&) const = default;
  };
  // Never fewer bytes than before, and nothing more of one that is whole.
  void Tell(const State& state);
  // No more will come, and it is not whole: who waits fails.
  void BreakOff();

  State state() const;
  // Waits until so many bytes have come, or it is whole; how far it is then. kCancelled once it broke off.
  Result<State> WaitFor(int64_t bytes) const;
  // Its size.
  Result<int64_t> WaitUntilWhole() const;

 private:
  mutable Mutex mu_;
  mutable std::condition_variable_any has_grown_;
  State state_ KPROF_GUARDED_BY(mu_);
  bool broke_off_ KPROF_GUARDED_BY(mu_) = false;
};

}  // namespace kprof
