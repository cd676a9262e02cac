// When a device that is watched is asked again: as often as was wished, but never so often that the questions take more
// than their share of the time, as each holds the driver's lock, which the measured program wants as well. A value; the
// times are the caller's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace kprof {

class WatchPlan {
 public:
  // `share`: one part in so many of the time.
  explicit WatchPlan(int64_t share) : share_(share) {}

  // 0: not at all. The first question is due at once.
  void Begin(int64_t period_ns) {
    period_ns_ = period_ns;
    due_ns_ = 0;
  }
  bool active() const { return period_ns_ > 0; }
  int64_t due_ns() const { return due_ns_; }
  bool IsDue(int64_t now_ns) const { return active() && now_ns >= due_ns_; }

  // It was asked from `begun_ns` to `ended_ns`. What was missed is not made up for.
  void Asked(int64_t begun_ns, int64_t ended_ns) {
    const bool keeps_rhythm = due_ns_ != 0 && begun_ns - due_ns_ < period_ns_;
    due_ns_ = std::max((keeps_rhythm ? due_ns_ : begun_ns) + period_ns_, begun_ns + (ended_ns - begun_ns) * share_);
  }

 private:
  const int64_t share_;
  int64_t period_ns_ = 0;
  int64_t due_ns_ = 0;  // 0: at once
};

}  // namespace kprof
