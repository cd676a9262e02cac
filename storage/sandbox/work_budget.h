// How much longer a query may work: its time limit, counted only while it works, and the stop token of whoever asked.
// Asked from SQLite's callbacks, so it is cheap (one clock reading) and keeps its answer once that is no.
// Knows no SQL. One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

namespace kprof {

class WorkBudget {
 public:
  enum class Verdict { kGo, kTimedOut, kCancelled };

  WorkBudget(int64_t timeout_ms, std::stop_token stop);

  // While one lives, time counts. They do not nest.
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
  double remaining_ms() const;

 private:
  using Clock = std::chrono::steady_clock;

  const Clock::duration limit_;
  const std::stop_token stop_;
  Clock::duration worked_{0};  // in the shifts that ended
  Clock::time_point started_;  // of the current shift
  bool working_ = false;
  Verdict verdict_ = Verdict::kGo;
};

}  // namespace kprof
