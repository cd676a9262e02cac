#include "daemon/ingest/source/source_growth.h"

#include <limits>

namespace kprof {

void SourceGrowth::Tell(const State& state) {
  {
    MutexLock lock(mu_);
    KPROF_CHECK(state.bytes >= state_.bytes && !(state_.is_whole && state != state_));
    state_ = state;
  }
  has_grown_.notify_all();
}

void SourceGrowth::BreakOff() {
  {
    MutexLock lock(mu_);
    broke_off_ = true;
  }
  has_grown_.notify_all();
}

SourceGrowth::State SourceGrowth::state() const {
  MutexLock lock(mu_);
  return state_;
}

Result<SourceGrowth::State> SourceGrowth::WaitFor(int64_t bytes) const {
  MutexLock lock(mu_);
  has_grown_.wait(mu_, [&]() KPROF_REQUIRES(mu_) { return state_.bytes >= bytes || state_.is_whole || broke_off_; });
  if (state_.bytes >= bytes || state_.is_whole) return state_;
  return Fail(ErrorCode::kCancelled, "wait for more of it", "it broke off");
}

Result<int64_t> SourceGrowth::WaitUntilWhole() const {
  ASSIGN_OR_RETURN(const State state, WaitFor(std::numeric_limits<int64_t>::max()));
  return state.bytes;
}

}  // namespace kprof
