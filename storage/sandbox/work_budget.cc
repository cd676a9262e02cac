#include "storage/sandbox/work_budget.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "storage/base/status.h"

namespace kprof {
namespace {

constexpr int64_t kLongestMs = int64_t{365} * 24 * 3600 * 1000;  // keeps the arithmetic in nanoseconds from overflowing

constexpr int kClockTimesLonger = 20;

int64_t ProcessorTimeNs() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double Milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

WorkBudget::WorkBudget(int64_t timeout_ms, std::stop_token stop, LongWork long_work)
    : limit_(std::chrono::milliseconds(std::clamp<int64_t>(timeout_ms, 0, kLongestMs))),
      stop_(std::move(stop)),
      long_work_(std::move(long_work)) {}

WorkBudget::Shift::Shift(WorkBudget& budget) : budget_(budget) {
  KPROF_CHECK(!budget_.working_);
  budget_.working_ = true;
  budget_.started_ = Clock::now();
  if (budget_.long_work_.may_go_on) budget_.processor_started_ns_ = ProcessorTimeNs();
}

WorkBudget::Shift::~Shift() {
  budget_.worked_ += Clock::now() - budget_.started_;
  if (budget_.long_work_.may_go_on) budget_.processor_ns_ += ProcessorTimeNs() - budget_.processor_started_ns_;
  budget_.working_ = false;
}

bool WorkBudget::IsSpent() noexcept {
  if (verdict_ != Verdict::kGo) return true;
  const Clock::duration worked = worked_ + (working_ ? Clock::now() - started_ : Clock::duration{0});
  if (stop_.stop_requested()) {
    verdict_ = Verdict::kCancelled;
  } else if (worked >= limit_) {
    verdict_ = Verdict::kTimedOut;
  } else if (long_work_.may_go_on && IsLong(worked)) {
    if (!std::exchange(long_work_.may_go_on, nullptr)()) verdict_ = Verdict::kCrowded;
  }
  return verdict_ != Verdict::kGo;
}

// The processor's time is asked for only by what the clock says may be long: that takes a system call.
bool WorkBudget::IsLong(Clock::duration worked) const {
  const auto after = std::chrono::milliseconds(long_work_.after_ms);
  if (worked < after) return false;
  if (worked >= kClockTimesLonger * after) return true;
  const int64_t processor_ns = processor_ns_ + (working_ ? ProcessorTimeNs() - processor_started_ns_ : 0);
  return std::chrono::nanoseconds(processor_ns) >= after;
}

double WorkBudget::elapsed_ms() const {
  return Milliseconds(worked_ + (working_ ? Clock::now() - started_ : Clock::duration{0}));
}

}  // namespace kprof
