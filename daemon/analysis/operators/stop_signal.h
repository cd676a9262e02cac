// When a question is given up: a stop token fires, or who is asked says so (a query's time limit, say).
//
// Asked on the thread that works, for each segment; so it may take about as long as reading a clock.
#pragma once

#include <functional>
#include <stop_token>
#include <utility>

namespace kprof {

class StopSignal {
 public:
  // One that is never given.
  StopSignal() = default;
  StopSignal(std::stop_token stop) : stop_(std::move(stop)) {}  // NOLINT(google-explicit-constructor): it is one
  // `must_stop` stays true once it was.
  explicit StopSignal(std::function<bool()> must_stop) : must_stop_(std::move(must_stop)) {}

  bool IsGiven() const { return stop_.stop_requested() || (must_stop_ && must_stop_()); }

 private:
  std::stop_token stop_;
  std::function<bool()> must_stop_;  // null: nobody is asked
};

}  // namespace kprof
