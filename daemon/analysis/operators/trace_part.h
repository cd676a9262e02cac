// The parts of a run that a question is asked of, each with its rank. Times are those of each part, from its own base:
// parts of different clocks are never put on one line here. Also the signal that ends a question, and times that are
// safe to calculate with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// Tells when a question is given up: a stop token fires, or a function says so (a query's time limit, for example).
//
// Asked on the thread that works, for each segment; so it may take about as long as reading a clock.
class StopSignal {
 public:
  // A signal that is never given.
  StopSignal() = default;
  StopSignal(std::stop_token stop) : stop_(std::move(stop)) {}  // NOLINT(google-explicit-constructor): it is one
  // REQUIRES: `must_stop` stays true once it was.
  explicit StopSignal(std::function<bool()> must_stop) : must_stop_(std::move(must_stop)) {}

  bool IsGiven() const { return stop_.stop_requested() || (must_stop_ && must_stop_()); }

 private:
  std::stop_token stop_;
  std::function<bool()> must_stop_;  // null: nobody is asked
};

// The columns of a part may hold any number. Times within these limits are safe: the difference of two has a place in
// 64 bits. The functions below are pure.
constexpr int64_t kLastTimeNs = (int64_t{1} << 62) - 1;
constexpr int64_t kFirstTimeNs = -kLastTimeNs;

constexpr int64_t SafeTime(int64_t time_ns) {
  return std::clamp(time_ns, kFirstTimeNs, kLastTimeNs);
}

// A negative duration is not known, as kNoValue is.
constexpr bool IsKnown(int64_t duration_ns) {
  return duration_ns >= 0;
}

// The end of a slice; without a known duration, its begin. REQUIRES: `time_ns` is a SafeTime.
constexpr int64_t SafeEndOf(int64_t time_ns, int64_t duration_ns) {
  return !IsKnown(duration_ns) ? time_ns : time_ns + std::min(duration_ns, kLastTimeNs - std::max<int64_t>(time_ns, 0));
}

// The sum, at most INT64_MAX. REQUIRES: neither is negative.
constexpr int64_t SaturatingSum(int64_t a, int64_t b) {
  return b > INT64_MAX - a ? INT64_MAX : a + b;
}

struct TracePart {
  PartReader* reader = nullptr;  // outlives the question; used by its thread alone
  std::optional<int64_t> rank;
  // By a track's number: 0 if the question is not about its events, whatever its filter says. Null: it is about all
  // tracks. Outlives the question.
  const std::vector<uint8_t>* tracks = nullptr;
};
using TraceParts = std::span<const TracePart>;

// A part with the rank that it says itself.
inline TracePart PartOf(PartReader& reader) {
  return {&reader, reader.IntegerFact("rank")};
}

// Call it for each segment. Fails with kCancelled once the signal is given.
inline Status StillWanted(const StopSignal& stop) {
  if (!stop.IsGiven()) return OkStatus();
  return Fail(ErrorCode::kCancelled, "ask a trace", "it was cancelled");
}

}  // namespace kprof
