// A value that changes in steps over time (the length of a queue, the rate of copies in flight), described in numbers:
// weighted by time, or by points as pandas' describe() does.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {

struct SeriesPoint {
  int64_t time_ns = 0;
  double value = 0;  // from that time on, until the next point
};

struct SeriesNumbers {
  int64_t points = 0;
  double mean = 0;
  std::optional<double> stddev;  // nothing: of one point
  double min = 0;
  double p25 = 0;
  double p50 = 0;
  double p75 = 0;
  double max = 0;
};

// Each value counts once: the sample's standard deviation, quartiles between two values interpolated. Nothing where
// there are no points.
std::optional<SeriesNumbers> DescribePoints(const std::vector<SeriesPoint>& points);

// Each value counts as long as it lasts; the last one lasts to `end_ns`. Values of 0 are left out if `without_zero`. A
// quartile is the least value that is not exceeded in so much of the time. Nothing where no time is left. REQUIRES: in
// the order of time.
std::optional<SeriesNumbers> DescribeTime(const std::vector<SeriesPoint>& points, int64_t end_ns, bool without_zero);

// How long the value is at least `least`.
int64_t TimeAtLeast(const std::vector<SeriesPoint>& points, int64_t end_ns, double least);

struct SeriesStretch {
  Interval time;
  double mean = 0;  // weighted by time; 0 before the first point
  double max = 0;
};

constexpr size_t kMostStretches = 10'000;

// The whole in equal stretches, at most `most` of them, and never more than kMostStretches.
std::vector<SeriesStretch> StretchesOf(const std::vector<SeriesPoint>& points, const Interval& whole, size_t most);

}  // namespace kprof
