// A clock that stands still until told. Any thread.
#pragma once

#include <atomic>

#include "storage/base/clock.h"

namespace kprof {

class FakeClock final : public Clock {
 public:
  int64_t mono_ns() const override { return mono_ns_; }
  int64_t unix_ns() const override { return unix_ns_; }

  // Both clocks go on.
  void Advance(int64_t delta_ns) {
    mono_ns_ += delta_ns;
    unix_ns_ += delta_ns;
  }
  void SetMono(int64_t mono_ns) { mono_ns_ = mono_ns; }
  // The wall clock jumps.
  void SetUnix(int64_t unix_ns) { unix_ns_ = unix_ns; }

 private:
  std::atomic<int64_t> mono_ns_{1'000 * kNanosPerSecond};
  std::atomic<int64_t> unix_ns_{1'800'000'000 * kNanosPerSecond};
};

}  // namespace kprof
