// Quantiles that intervals are made of: of Student's distribution, of a sorted sample, and of the rank of a resample's
// median. Pure functions; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kprof {

// The value that Student's t with `degrees` exceeds with the chance `tail`. REQUIRES: degrees >= 1, 0 < tail < 0.5.
double StudentQuantile(double tail, int64_t degrees);

// The quantile `share` (0 to 1) of sorted values, between two of them by interpolation: the i-th of n stands for the
// share (i + 0.5) / n. REQUIRES: `sorted` is not empty.
double SortedQuantile(std::span<const double> sorted, double share);

// Places of the median of a resample: `samples` values are drawn with replacement from as many, and their median is
// taken. Its place among the sorted samples, as a share, has a Beta distribution. The array has its quantiles at equal
// chances: a random entry, given to SortedQuantile, is the median of a resample. So a resample costs one draw, however
// many samples there are. REQUIRES: samples >= 1. Costs about 30 us.
using MedianPlaces = std::array<double, 256>;
MedianPlaces PlacesOfMedian(size_t samples);

}  // namespace kprof
