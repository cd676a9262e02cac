#include "daemon/analysis/functions/step_series.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace kprof {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The end of the value of points[i].
int64_t EndOf(const std::vector<SeriesPoint>& points, size_t i, int64_t end_ns) {
  return i + 1 < points.size() ? points[i + 1].time_ns : std::max(end_ns, points[i].time_ns);
}

}  // namespace

std::optional<SeriesNumbers> DescribePoints(const std::vector<SeriesPoint>& points) {
  if (points.empty()) return std::nullopt;
  std::vector<double> values;
  values.reserve(points.size());
  double sum = 0;
  for (const SeriesPoint& point : points) {
    values.push_back(point.value);
    sum += point.value;
  }
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  SeriesNumbers numbers{.points = static_cast<int64_t>(values.size()), .mean = sum / count};
  double squares = 0;
  for (const double value : values) squares += (value - numbers.mean) * (value - numbers.mean);
  if (values.size() > 1) numbers.stddev = std::sqrt(squares / (count - 1));
  numbers.min = values.front();
  numbers.p25 = Quantile(values, 0.25);
  numbers.p50 = Quantile(values, 0.5);
  numbers.p75 = Quantile(values, 0.75);
  numbers.max = values.back();
  return numbers;
}

std::optional<SeriesNumbers> DescribeTime(const std::vector<SeriesPoint>& points, int64_t end_ns, bool without_zero) {
  std::vector<std::pair<double, int64_t>> values;
  values.reserve(points.size());
  SeriesNumbers numbers;
  double whole = 0;
  double sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const int64_t ns = EndOf(points, i, end_ns) - points[i].time_ns;
    if (without_zero && points[i].value == 0) continue;
    ++numbers.points;
    if (ns <= 0) continue;
    values.emplace_back(points[i].value, ns);
    whole += static_cast<double>(ns);
    sum += points[i].value * static_cast<double>(ns);
  }
  if (values.empty()) return std::nullopt;
  numbers.mean = sum / whole;
  double squares = 0;
  for (const auto& [value, ns] : values) {
    squares += (value - numbers.mean) * (value - numbers.mean) * static_cast<double>(ns);
  }
  numbers.stddev = std::sqrt(squares / whole);
  std::sort(values.begin(), values.end());
  numbers.min = values.front().first;
  numbers.max = values.back().first;
  numbers.p25 = numbers.p50 = numbers.p75 = numbers.max;
  double below = 0;
  double before = 0;
  for (const auto& [value, ns] : values) {
    before = below;
    below += static_cast<double>(ns) / whole;
    if (before < 0.25 && below >= 0.25) numbers.p25 = value;
    if (before < 0.5 && below >= 0.5) numbers.p50 = value;
    if (before < 0.75 && below >= 0.75) numbers.p75 = value;
  }
  return numbers;
}

int64_t TimeAtLeast(const std::vector<SeriesPoint>& points, int64_t end_ns, double least) {
  int64_t sum = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].value >= least) sum += EndOf(points, i, end_ns) - points[i].time_ns;
  }
  return sum;
}

std::vector<SeriesStretch> StretchesOf(const std::vector<SeriesPoint>& points, const Interval& whole, size_t most) {
  std::vector<SeriesStretch> stretches;
  const int64_t length = whole.end_ns - whole.begin_ns;
  if (length <= 0 || most == 0) return stretches;
  const auto count = static_cast<int64_t>(std::min(most, kMostStretches));
  const int64_t width = length / count + (length % count == 0 ? 0 : 1);
  for (int64_t begin = whole.begin_ns; begin < whole.end_ns; begin += std::min(width, whole.end_ns - begin)) {
    stretches.push_back({{begin, begin + std::min(width, whole.end_ns - begin)}});
  }
  size_t first = 0;  // stretches before it are over
  for (size_t i = 0; i < points.size(); ++i) {
    const int64_t begin = std::max(points[i].time_ns, whole.begin_ns);
    const int64_t end = std::min(EndOf(points, i, whole.end_ns), whole.end_ns);
    while (first < stretches.size() && stretches[first].time.end_ns <= begin) ++first;
    for (size_t at = first; at < stretches.size() && stretches[at].time.begin_ns < end; ++at) {
      SeriesStretch& stretch = stretches[at];
      const int64_t ns = std::min(end, stretch.time.end_ns) - std::max(begin, stretch.time.begin_ns);
      if (ns <= 0) continue;
      stretch.mean += points[i].value * static_cast<double>(ns);
      stretch.max = std::max(stretch.max, points[i].value);
    }
  }
  for (SeriesStretch& stretch : stretches) {
    stretch.mean /= static_cast<double>(stretch.time.end_ns - stretch.time.begin_ns);
  }
  return stretches;
}

}  // namespace kprof
