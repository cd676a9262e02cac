#include "daemon/analysis/verdict/distribution.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "daemon/analysis/verdict/quantiles.h"

namespace kprof {
namespace {

constexpr size_t kLeastForModes = 20;
// Chosen by simulation; see the header for the outcome.
constexpr double kBandwidth = 0.7;   // of the scale times n^-0.2; Silverman's rule has 0.9 and sees one mode in two
constexpr double kMostValley = 0.5;  // of the lower mode's density
constexpr double kMostValleyOfFew = 0.35;  // of fewer than 50 values
constexpr double kPeakPart = 0.4;          // a peak reaches to where the density is so much of its own
constexpr double kLeastPeakShare = 0.06;
constexpr double kLeastPeakValues = 3.5;  // 4, of which one may lie across the edge
constexpr double kLeastApart = 4.7;
constexpr double kLeastApartOfMany = 3;  // of 300 values and more
constexpr int kDensityPoints = 512;
constexpr size_t kMostBuckets = 64;

// A density at equal distances, made of a bell around each value.
struct Density {
  double begin = 0;
  double step = 0;
  std::vector<double> counts;  // values at each point; one between two points is shared out
  std::vector<double> heights;

  double ValueAt(double point) const { return begin + point * step; }
};

struct Peak {
  int point = 0;
  double height = 0;
};

// The least distance between neighbours that differ: a clock's step, where values are rounded to it.
double LeastGap(std::span<const double> sorted) {
  double least = 0;
  for (size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    if (gap > 0 && (least == 0 || gap < least)) least = gap;
  }
  return least;
}

double DeviationOf(std::span<const double> values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() > 1 ? std::sqrt(squares / static_cast<double>(values.size() - 1)) : 0;
}

// Equal values have exactly that mean. REQUIRES: there are values.
double MeanOfValues(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value - values[0];
  return values[0] + sum / static_cast<double>(values.size());
}

// Nothing where the values do not differ enough for one.
std::optional<Density> DensityOf(std::span<const double> sorted) {
  const double deviation = DeviationOf(sorted, MeanOfValues(sorted));
  const double quartiles = (SortedQuantile(sorted, 0.75) - SortedQuantile(sorted, 0.25)) / 1.349;
  const double scale = quartiles > 0 ? std::min(deviation, quartiles) : deviation;
  double bandwidth = kBandwidth * scale * std::pow(static_cast<double>(sorted.size()), -0.2);
  // Neighbouring steps of the clock melt into one mode.
  bandwidth = std::max(bandwidth, 0.75 * LeastGap(sorted));
  if (!(bandwidth > 0) || !std::isfinite(bandwidth)) return std::nullopt;
  Density density;
  density.begin = SortedQuantile(sorted, 0.02) - 3 * bandwidth;
  const double end = SortedQuantile(sorted, 0.98) + 3 * bandwidth;
  density.step = (end - density.begin) / (kDensityPoints - 1);
  if (!(density.step > 0) || !std::isfinite(density.step)) return std::nullopt;
  bandwidth = std::max(bandwidth, density.step);
  density.counts.assign(kDensityPoints, 0);
  density.heights.assign(kDensityPoints, 0);
  for (const double value : sorted) {
    const double place = (value - density.begin) / density.step;
    if (place < 0 || place >= kDensityPoints - 1) continue;
    const auto point = static_cast<int>(place);
    density.counts[point] += 1 - (place - point);
    density.counts[point + 1] += place - point;
  }
  const int reach = std::min(kDensityPoints - 1, static_cast<int>(4 * bandwidth / density.step) + 1);
  std::vector<double> bell;
  for (int i = 0; i <= reach; ++i) {
    const double distance = i * density.step / bandwidth;
    bell.push_back(std::exp(-distance * distance / 2));
  }
  for (int from = 0; from < kDensityPoints; ++from) {
    if (density.counts[from] == 0) continue;
    const int last = std::min(kDensityPoints - 1, from + reach);
    for (int to = std::max(0, from - reach); to <= last; ++to) {
      density.heights[to] += density.counts[from] * bell[std::abs(to - from)];
    }
  }
  return density;
}

// The peaks with enough values: those around a peak where the density is at least 0.4 of its own, and not above it. A
// long thin tail has many peaks, and a ripple on the slope of a mode is one; neither has enough.
std::vector<Peak> PeaksOf(const Density& density, size_t count) {
  const std::vector<double>& heights = density.heights;
  const double least = std::max(kLeastPeakValues, kLeastPeakShare * static_cast<double>(count));
  std::vector<Peak> peaks;
  for (int point = 1; point + 1 < kDensityPoints; ++point) {
    const double height = heights[point];
    if (height <= heights[point - 1] || height < heights[point + 1]) continue;
    const auto belongs = [&](int other) {
      return other >= 0 && other < kDensityPoints && heights[other] >= height * kPeakPart && heights[other] <= height;
    };
    double values = density.counts[point];
    for (int left = point - 1; belongs(left); --left) values += density.counts[left];
    for (int right = point + 1; belongs(right); ++right) values += density.counts[right];
    if (values >= least) peaks.push_back({point, height});
  }
  return peaks;
}

// How many of their common deviations the values below and above are apart. A few close values have no say of their
// own in that deviation: so the end of a tail is not far from the rest.
bool AreApart(std::span<const double> sorted, size_t below) {
  const std::span<const double> low = sorted.first(below);
  const std::span<const double> high = sorted.subspan(below);
  if (low.size() < 2 || high.size() < 2) return false;
  const double low_mean = MeanOfValues(low);
  const double high_mean = MeanOfValues(high);
  const double low_deviation = DeviationOf(low, low_mean);
  const double high_deviation = DeviationOf(high, high_mean);
  const double squares = low_deviation * low_deviation * static_cast<double>(low.size() - 1) +
                         high_deviation * high_deviation * static_cast<double>(high.size() - 1);
  const double common = std::sqrt(squares / static_cast<double>(sorted.size() - 2));
  return high_mean - low_mean >= (sorted.size() < 300 ? kLeastApart : kLeastApartOfMany) * common;
}

SampleHistogram HistogramOf(std::span<const double> sorted) {
  SampleHistogram histogram;
  const double q1 = SortedQuantile(sorted, 0.25);
  const double q3 = SortedQuantile(sorted, 0.75);
  const double reach = q3 > q1 ? 5 * (q3 - q1) : sorted.back() - sorted.front();
  histogram.begin = std::max(sorted.front(), q1 - reach);
  const double end = std::min(sorted.back(), q3 + reach);
  const double range = end - histogram.begin;
  // As wide as Freedman and Diaconis would have them, never finer than the clock.
  const double count = static_cast<double>(sorted.size());
  const double wanted = std::max(2 * (q3 - q1) / std::cbrt(count), LeastGap(sorted));
  size_t buckets = 1;
  if (range > 0 && std::isfinite(range)) {
    buckets = wanted > 0 ? static_cast<size_t>(std::clamp(std::ceil(range / wanted), 1.0, double{kMostBuckets})) : 1;
    histogram.width = range / static_cast<double>(buckets);
  }
  histogram.counts.assign(buckets, 0);
  for (const double value : sorted) {
    if (value < histogram.begin) {
      ++histogram.below;
    } else if (value > end) {
      ++histogram.above;
    } else {
      const double place = histogram.width > 0 ? (value - histogram.begin) / histogram.width : 0;
      ++histogram.counts[std::min(buckets - 1, static_cast<size_t>(place))];
    }
  }
  return histogram;
}

std::optional<double> AutocorrelationOf(std::span<const double> in_order, double mean) {
  if (in_order.size() < 3) return std::nullopt;
  double squares = 0;
  double products = 0;
  for (size_t i = 0; i < in_order.size(); ++i) {
    squares += (in_order[i] - mean) * (in_order[i] - mean);
    if (i > 0) products += (in_order[i] - mean) * (in_order[i - 1] - mean);
  }
  if (!(squares > 0)) return std::nullopt;
  return products / squares;
}

// The modes of values on their own scale.
std::optional<TwoModes> ModesOnScale(std::span<const double> sorted) {
  const std::optional<Density> density = DensityOf(sorted);
  if (!density) return std::nullopt;
  const double most_valley = sorted.size() < 50 ? kMostValleyOfFew : kMostValley;
  const std::vector<Peak> peaks = PeaksOf(*density, sorted.size());
  std::optional<TwoModes> found;
  double least_part = most_valley;
  for (size_t i = 0; i < peaks.size(); ++i) {
    for (size_t j = i + 1; j < peaks.size(); ++j) {
      const auto begin = density->heights.begin() + peaks[i].point;
      const auto end = density->heights.begin() + peaks[j].point;
      const auto lowest = std::min_element(begin, end);
      const double part = *lowest / std::min(peaks[i].height, peaks[j].height);
      if (part >= least_part) continue;
      // The middle of a valley that is empty.
      auto last = lowest;
      while (last + 1 != end && *(last + 1) <= *lowest) ++last;
      const double middle = static_cast<double>((lowest - density->heights.begin()) + (last - lowest) / 2.0);
      const double valley = density->ValueAt(middle);
      const auto below = static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), valley) - sorted.begin());
      if (!AreApart(sorted, below)) continue;
      least_part = part;
      const double low_share = static_cast<double>(below) / static_cast<double>(sorted.size());
      found = TwoModes{density->ValueAt(peaks[i].point), density->ValueAt(peaks[j].point), low_share, 1 - low_share,
                       valley};
    }
  }
  return found;
}

}  // namespace

std::optional<TwoModes> ModesOf(std::span<const double> sorted) {
  if (sorted.size() < kLeastForModes) return std::nullopt;
  if (sorted.front() <= 0) return ModesOnScale(sorted);
  // A long tail that seems to have a mode of its own on one scale has none on the other.
  std::optional<TwoModes> modes = ModesOnScale(sorted);
  if (!modes) return std::nullopt;
  std::vector<double> logs;
  logs.reserve(sorted.size());
  for (const double value : sorted) logs.push_back(std::log(value));
  return ModesOnScale(logs) ? modes : std::nullopt;
}

Distribution DistributionOf(std::vector<double> samples) {
  Distribution made;
  const auto all = static_cast<int64_t>(samples.size());
  std::erase_if(samples, [](double value) { return !std::isfinite(value); });
  made.count = static_cast<int64_t>(samples.size());
  made.not_finite = all - made.count;
  if (samples.empty()) return made;
  made.mean = MeanOfValues(samples);
  made.deviation = DeviationOf(samples, made.mean);
  if (samples.size() > 1 && made.mean != 0) made.relative_noise = made.deviation / std::abs(made.mean);
  made.autocorrelation = AutocorrelationOf(samples, made.mean);
  std::sort(samples.begin(), samples.end());
  made.min = samples.front();
  made.max = samples.back();
  made.median = SortedQuantile(samples, 0.5);
  made.q1 = SortedQuantile(samples, 0.25);
  made.q3 = SortedQuantile(samples, 0.75);
  made.p5 = SortedQuantile(samples, 0.05);
  made.p95 = SortedQuantile(samples, 0.95);
  made.p99 = SortedQuantile(samples, 0.99);
  made.histogram = HistogramOf(samples);
  const std::optional<TwoModes> modes = ModesOf(samples);
  made.is_bimodal = modes.has_value();
  if (modes) made.modes = *modes;
  for (double& value : samples) value = std::abs(value - made.median);
  std::sort(samples.begin(), samples.end());
  made.median_deviation = SortedQuantile(samples, 0.5);
  return made;
}

}  // namespace kprof
