// Exact percentiles of many groups of values within a bound of memory. If the values do not fit all at once, they are
// gone through several times, for some groups each time. A group that is too large alone takes at most four passes
// more: each pass counts its values in buckets, and so narrows down where the sought value is.
//
// The percentile p of n values is the least of them that at least p % of them do not exceed.
//
// The caller's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "storage/base/status.h"

namespace kprof {

// The number and the range of a group's values, which are known before.
struct ValueCount {
  int64_t count = 0;
  int64_t min = 0;
  int64_t max = 0;
};

// ForEachValue goes through all values: it calls back with groups and their values, side by side. Negative values are
// none.
using SeeValues = std::function<void(std::span<const uint32_t> groups, std::span<const int64_t> values)>;
using ForEachValue = std::function<Status(const SeeValues& see)>;

// The percentiles of each group; none for a group with a count of 0: the passes leave it out. Memory: 8 bytes for each
// of `most_values`. Values beyond a group's count are left out. Fails as `for_each` does. REQUIRES: percentiles are
// from 0 to 100, the groups seen are less than counts.size().
Result<std::vector<std::vector<int64_t>>> ExactPercentiles(std::span<const ValueCount> counts,
                                                           std::span<const double> percentiles,
                                                           const ForEachValue& for_each, size_t most_values);

}  // namespace kprof
