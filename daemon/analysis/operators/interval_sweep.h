// Unions of intervals that come roughly in the order of time (IntervalSweep), and slices of a part as such unions
// (SweepSlices).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

struct Interval {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  bool operator==(const Interval&) const = default;
};

// Adds an interval to a union that is disjoint and in order. REQUIRES: it begins no earlier than the last piece. An
// interval without a length is none.
void AppendInterval(int64_t begin_ns, int64_t end_ns, std::vector<Interval>& pieces);

// The union of intervals that come roughly in the order of time. Once no more will come before some time, the union up
// to there is settled and goes: so memory is bounded by the intervals that overlap.
class IntervalSweep {
 public:
  // The part of it that was settled already is left out. An interval without a length is none.
  void Add(int64_t begin_ns, int64_t end_ns);

  // Appends the union before that time: disjoint pieces in order, the last of them cut there. The next ones may touch
  // it.
  void Settle(int64_t before_ns, std::vector<Interval>& pieces);

  bool empty() const { return open_.empty(); }

 private:
  std::vector<Interval> open_;
  bool in_order_ = true;
  int64_t settled_ns_ = INT64_MIN;
};

// The time in which both last. REQUIRES: each is disjoint and in order.
int64_t OverlapOf(const std::vector<Interval>& a, const std::vector<Interval>& b);

// Adds to ns[mask] the time in which exactly the unions of `mask` last at once: bit i stands for unions[i]; ns[0]
// stays. REQUIRES: each is disjoint and in order, and `ns` has 2^unions.size() places.
void AddTimesAtOnce(std::span<const std::vector<Interval>> unions, std::span<int64_t> ns);

// Called for a group and a stretch of time, with the union and the number of slices for each filter. Stretches follow
// each other.
using SeeStretch =
    std::function<void(uint32_t group, std::span<const std::vector<Interval>> pieces, std::span<const int64_t> slices)>;

// Goes through the slices of a part as unions of intervals, in the order of time. `groups` has the group of each track.
// busy_time.h is made of this. On the reader's thread.
Status SweepSlices(const TracePart& part, std::span<const EventFilter> filters, std::span<const uint32_t> groups,
                   const StopSignal& stop, const SeeStretch& see);

}  // namespace kprof
