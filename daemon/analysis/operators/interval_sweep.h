// The union of intervals that come roughly in the order of time: what lies before a time that nothing more will come
// from is settled and goes; so memory is that of what overlaps, not of all.
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

class IntervalSweep {
 public:
  // What of it was settled already is left out. One without a length is none.
  void Add(int64_t begin_ns, int64_t end_ns);

  // Appends what the union is before that time: disjoint pieces in order, the last of them cut there. The next ones may
  // touch it.
  void Settle(int64_t before_ns, std::vector<Interval>& pieces);

  bool empty() const { return open_.empty(); }

 private:
  std::vector<Interval> open_;
  bool in_order_ = true;
  int64_t settled_ns_ = INT64_MIN;
};

// How long both last.
int64_t OverlapOf(const std::vector<Interval>& a, const std::vector<Interval>& b);

// How long which of several unions last at once: adds to ns[mask], bit i for unions[i]; ns[0] stays. REQUIRES: each is
// disjoint and in order, and `ns` has 2^unions.size() places.
void AddTimesAtOnce(std::span<const std::vector<Interval>> unions, std::span<int64_t> ns);

// Slices of a part as unions of intervals, group by group of tracks, in the order of time: what busy_time.h is made of.
//
// On the reader's thread.

// What of each filter a group has within a stretch of time; stretches follow each other.
using SeeStretch =
    std::function<void(uint32_t group, std::span<const std::vector<Interval>> pieces, std::span<const int64_t> slices)>;

// `groups` has the group of each track.
Status SweepSlices(const TracePart& part, std::span<const EventFilter> filters, std::span<const uint32_t> groups,
                   const StopSignal& stop, const SeeStretch& see);

}  // namespace kprof
