// The work that a query may still do: its time limit, counted only while it works, the stop token of its caller, and
// the question if there is room for long work. SQLite's callbacks ask it, so it is cheap (one clock reading); once it
// says no, it stays so.
// Knows no SQL. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>

namespace kprof {

// Asks once, from within the work, if long work may go on; false ends it. Work is long when it has used a processor for
// `after_ms`, or has kept its thread for twenty times as long. By the clock alone, a machine under load would make long
// work of short work.
struct LongWork {
  int64_t after_ms = 0;
  std::function<bool()> may_go_on{};  // null: it may; must not throw
};

class WorkBudget {
 public:
  enum class Verdict { kGo, kTimedOut, kCancelled, kCrowded };

  WorkBudget(int64_t timeout_ms, std::stop_token stop, LongWork long_work = {});

  // Time counts while a Shift lives. Shifts do not nest.
  class Shift {
   public:
    explicit Shift(WorkBudget& budget);
    ~Shift();
    Shift(const Shift&) = delete;
    Shift& operator=(const Shift&) = delete;

   private:
    WorkBudget& budget_;
  };

  // True when the work must end; verdict() then says why.
  bool IsSpent() noexcept;
  Verdict verdict() const { return verdict_; }

  double elapsed_ms() const;

 private:
  using Clock = std::chrono::steady_clock;

  bool IsLong(Clock::duration worked) const;

  const Clock::duration limit_;
  const std::stop_token stop_;
  LongWork long_work_;         // its question is gone once it was answered
  Clock::duration worked_{0};  // in the shifts that ended
  Clock::time_point started_;  // of the current shift
  // The same of the processor's time: a shift is on one thread.
  int64_t processor_ns_ = 0;
  int64_t processor_started_ns_ = 0;
  bool working_ = false;
  Verdict verdict_ = Verdict::kGo;
};

}  // namespace kprof
