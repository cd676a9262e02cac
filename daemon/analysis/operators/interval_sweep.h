// The union of intervals that come roughly in the order of time: what lies before a time that nothing more will come
// from is settled and goes; so memory is that of what overlaps, not of all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

}  // namespace kprof
