#include "storage/sandbox/work_budget.h"

#include <algorithm>

#include "storage/base/status.h"

namespace kprof {
namespace {

constexpr int64_t kLongestMs = int64_t{365} * 24 * 3600 * 1000;  // keeps the arithmetic in nanoseconds from overflowing

double Milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

WorkBudget::WorkBudget(int64_t timeout_ms, std::stop_token stop)
    : limit_(std::chrono::milliseconds(std::clamp<int64_t>(timeout_ms, 0, kLongestMs))), stop_(std::move(stop)) {}

WorkBudget::Shift::Shift(WorkBudget& budget) : budget_(budget) {
  KPROF_CHECK(!budget_.working_);
  budget_.working_ = true;
  budget_.started_ = Clock::now();
}

WorkBudget::Shift::~Shift() {
  budget_.worked_ += Clock::now() - budget_.started_;
  budget_.working_ = false;
}

bool WorkBudget::IsSpent() noexcept {
  if (verdict_ != Verdict::kGo) return true;
  if (stop_.stop_requested()) {
    verdict_ = Verdict::kCancelled;
  } else if (worked_ + (working_ ? Clock::now() - started_ : Clock::duration{0}) >= limit_) {
    verdict_ = Verdict::kTimedOut;
  }
  return verdict_ != Verdict::kGo;
}

double WorkBudget::elapsed_ms() const {
  return Milliseconds(worked_ + (working_ ? Clock::now() - started_ : Clock::duration{0}));
}

double WorkBudget::remaining_ms() const {
  return std::max(0.0, Milliseconds(limit_) - elapsed_ms());
}

}  // namespace kprof
