#include "daemon/rpc/caller_desk.h"

#include <algorithm>
#include <utility>

namespace kprof {
namespace {

constexpr double kBurst = 2;  // seconds' worth of calls

}  // namespace

CallerDesk::CallerDesk(const Clock& clock, Caller caller, const CallLimits& limits, Status refusal,
                       CallObserver* observer)
    : clock_(clock),
      caller_(std::move(caller)),
      refusal_(std::move(refusal)),
      observer_(observer),
      limits_(limits),
      left_(kBurst * static_cast<double>(limits.per_second)),
      left_at_ns_(clock.mono_ns()) {}

Status CallerDesk::Enter(Rpc rpc) {
  if (observer_ != nullptr) observer_->CallBegan(rpc);
  MutexLock lock(mu_);
  ++in_flight_;
  RETURN_IF_ERROR(refusal_);
  RETURN_IF_ERROR(TakeFromRate());
  if (in_flight_ > limits_.in_flight) {
    return Fail(ErrorCode::kQueueFull, "call kprofd",
                CallerName(caller_) + " has " + std::to_string(limits_.in_flight) + " calls under way already",
                "wait for some of them to end");
  }
  return AuthorizeCall(caller_, rpc);
}

Status CallerDesk::TakeFromRate() {
  const auto per_second = static_cast<double>(limits_.per_second);
  const int64_t now_ns = clock_.mono_ns();
  const double passed_s = static_cast<double>(now_ns - left_at_ns_) / 1e9;
  left_at_ns_ = now_ns;
  left_ = std::min(left_ + passed_s * per_second, kBurst * per_second);
  if (left_ < 1) {
    return Fail(ErrorCode::kQueueFull, "call kprofd",
                CallerName(caller_) + " made more than " + std::to_string(limits_.per_second) + " calls a second",
                "ask less often, or wait for a run with kprofctl wait");
  }
  left_ -= 1;
  return OkStatus();
}

void CallerDesk::Leave(Rpc rpc, CanonicalCode code, int64_t entered_mono_ns) {
  {
    MutexLock lock(mu_);
    --in_flight_;
  }
  if (observer_ != nullptr) observer_->CallEnded(caller_, rpc, code, clock_.mono_ns() - entered_mono_ns);
}

int64_t CallerDesk::calls_in_flight() const {
  MutexLock lock(mu_);
  return in_flight_;
}

void CallerDesk::SetLimits(const CallLimits& limits) {
  MutexLock lock(mu_);
  limits_ = limits;
}

}  // namespace kprof
