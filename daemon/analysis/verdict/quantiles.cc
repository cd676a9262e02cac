#include "daemon/analysis/verdict/quantiles.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "storage/base/status.h"

namespace kprof {
namespace {

// From here on Student's distribution is taken for one of so many degrees: 1.96 is off by 0.0003.
constexpr int64_t kMostDegrees = 5'000;

// The chance of a t beyond `t`, on one side: the closed sums for whole degrees, which stop.
double StudentTail(double t, int64_t degrees) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(degrees)));
  const double cosine = std::cos(angle);
  const double square = cosine * cosine;
  const bool is_odd = degrees % 2 == 1;
  double sum = 0;
  double term = is_odd ? cosine : 1;
  for (int64_t i = is_odd ? 3 : 2; i <= degrees; i += 2) {
    sum += term;
    term *= square * static_cast<double>(i - 1) / static_cast<double>(i);
  }
  const double within = is_odd ? (angle + std::sin(angle) * sum) * 2 / std::numbers::pi : std::sin(angle) * sum;
  return (1 - within) / 2;
}

}  // namespace

double StudentQuantile(double tail, int64_t degrees) {
  KPROF_CHECK(degrees >= 1 && tail > 0 && tail < 0.5);
  degrees = std::min(degrees, kMostDegrees);
  double low = 0;
  double high = 1;
  while (StudentTail(high, degrees) > tail && high < 1e9) high *= 2;
  for (int turn = 0; turn < 60; ++turn) {
    const double middle = (low + high) / 2;
    (StudentTail(middle, degrees) > tail ? low : high) = middle;
  }
  return high;
}

double SortedQuantile(std::span<const double> sorted, double share) {
  KPROF_CHECK(!sorted.empty());
  const auto last = static_cast<double>(sorted.size() - 1);
  const double place = std::clamp(share * static_cast<double>(sorted.size()) - 0.5, 0.0, last);
  const auto below = static_cast<size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

MedianPlaces PlacesOfMedian(size_t samples) {
  KPROF_CHECK(samples >= 1);
  // The median is the order statistic (n + 1) / 2 of n uniform values: Beta(a, a) with that for a. It is symmetric, so
  // its lower half is integrated, from where there is nothing left of it.
  constexpr int kSteps = 1'024;
  const double shape = (static_cast<double>(samples) + 1) / 2;
  const double deviation = 0.5 / std::sqrt(2 * shape + 1);
  const double begin = std::max(0.0, 0.5 - 9 * deviation);
  const double step = (0.5 - begin) / kSteps;
  const auto density = [&](double place) {
    if (shape == 1) return 1.0;
    return place <= 0 ? 0.0 : std::exp((shape - 1) * std::log(4 * place * (1 - place)));
  };
  std::vector<double> below(kSteps + 1, 0.0);
  double last = density(begin);
  for (int i = 1; i <= kSteps; ++i) {
    const double next = density(begin + i * step);
    below[i] = below[i - 1] + (last + next) / 2;
    last = next;
  }
  MedianPlaces places{};
  int at = 0;
  for (size_t i = 0; i < places.size() / 2; ++i) {
    const double wanted = (static_cast<double>(i) + 0.5) / static_cast<double>(places.size()) * 2 * below[kSteps];
    while (at + 1 < kSteps && below[at + 1] < wanted) ++at;
    const double within = below[at + 1] > below[at] ? (wanted - below[at]) / (below[at + 1] - below[at]) : 0.5;
    places[i] = begin + (at + within) * step;
    places[places.size() - 1 - i] = 1 - places[i];
  }
  return places;
}

}  // namespace kprof
