// What questions are asked of: the parts of a run, each with the rank that it is of. Times are those of each part, from
// its own base: parts of different clocks are never put on one line here.
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

// When a question is given up: a stop token fires, or who is asked says so (a query's time limit, say).
//
// Asked on the thread that works, for each segment; so it may take about as long as reading a clock.
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

// Times and durations of rows as they may be calculated with: what stands in a part's columns is anybody's number.
//
// Pure; any thread.

// The difference of two of them has a place in 64 bits.
constexpr int64_t kLastTimeNs = (int64_t{1} << 62) - 1;
constexpr int64_t kFirstTimeNs = -kLastTimeNs;

constexpr int64_t SafeTime(int64_t time_ns) {
  return std::clamp(time_ns, kFirstTimeNs, kLastTimeNs);
}

// A negative duration is nobody's: it is one that is not known, as kNoValue is.
constexpr bool IsKnown(int64_t duration_ns) {
  return duration_ns >= 0;
}

// REQUIRES: a SafeTime. What has no end ends where it begins.
constexpr int64_t SafeEndOf(int64_t time_ns, int64_t duration_ns) {
  return !IsKnown(duration_ns) ? time_ns : time_ns + std::min(duration_ns, kLastTimeNs - std::max<int64_t>(time_ns, 0));
}

// As much as there is a place for. REQUIRES: neither is negative.
constexpr int64_t SaturatingSum(int64_t a, int64_t b) {
  return b > INT64_MAX - a ? INT64_MAX : a + b;
}

struct TracePart {
  PartReader* reader = nullptr;  // outlives the question; used by its thread alone
  std::optional<int64_t> rank;
  // Null, or by a track's number whether events on it are asked of; outlives the question. Beside what a filter says.
  const std::vector<uint8_t>* tracks = nullptr;
};
using TraceParts = std::span<const TracePart>;

// With the rank that the part itself says it is of.
inline TracePart PartOf(PartReader& reader) {
  return {&reader, reader.IntegerFact("rank")};
}

// Asked for each segment: kCancelled when nobody waits for the answer any more.
inline Status StillWanted(const StopSignal& stop) {
  if (!stop.IsGiven()) return OkStatus();
  return Fail(ErrorCode::kCancelled, "ask a trace", "it was cancelled");
}

}  // namespace kprof
