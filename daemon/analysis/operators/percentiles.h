// Exact percentiles of many groups of values within a bound of memory: values that have no place all at once are gone
// through again, some groups each time. A group that alone has too many is narrowed down: in at most four passes more,
// a count of where its values lie says where the one that is sought is.
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

// What is known of a group before: how many values, and between what.
struct ValueCount {
  int64_t count = 0;
  int64_t min = 0;
  int64_t max = 0;
};

// Goes through all values: calls back with groups and their values, side by side. Those that are negative are none.
using SeeValues = std::function<void(std::span<const uint32_t> groups, std::span<const int64_t> values)>;
using ForEachValue = std::function<Status(const SeeValues& see)>;

// By group, by percentile; none for a group with a count of 0: it is left out of the passes. Memory: 8 bytes for each
// of `most_values`. Values beyond what was counted are left out. Fails as `for_each` does. REQUIRES: percentiles are
// from 0 to 100, the groups seen are less than counts.size().
Result<std::vector<std::vector<int64_t>>> ExactPercentiles(std::span<const ValueCount> counts,
                                                           std::span<const double> percentiles,
                                                           const ForEachValue& for_each, size_t most_values);

}  // namespace kprof
