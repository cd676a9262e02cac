// count, sum, total, avg, min and max over rows that come summed up: an argument is a ColumnSum, a row stands for
// TraceSet::summed_rows of them. Their results are those of SQLite's own functions row by row.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>

#include "storage/trace_sql/trace_set.h"

namespace kprof {

// Integers of one column and group, added in the order of their rows.
struct ColumnSum {
  int64_t count = 0;
  int64_t sum = 0;  // as long as is_over is false
  double real_sum = 0;
  uint64_t magnitude = 0;  // the sum of their magnitudes, or the greatest number
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  bool is_over = false;  // some sum on the way had no room

  void Add(int64_t value) {
    ++count;
    is_over = __builtin_add_overflow(sum, value, &sum) || is_over;
    real_sum += static_cast<double>(value);
    const uint64_t size = value < 0 ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    magnitude = __builtin_add_overflow(magnitude, size, &magnitude) ? UINT64_MAX : magnitude;
    min = value < min ? value : min;
    max = value > max ? value : max;
  }
  // The sum of both, unless it DependsOnOrder.
  void Merge(const ColumnSum& other) {
    count += other.count;
    is_over = __builtin_add_overflow(sum, other.sum, &sum) || is_over || other.is_over;
    real_sum += other.real_sum;
    magnitude = __builtin_add_overflow(magnitude, other.magnitude, &magnitude) ? UINT64_MAX : magnitude;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
  }
  // False: all sums on the way are exact, as integers and as doubles, in whatever order.
  bool DependsOnOrder() const { return magnitude > uint64_t{1} << 53; }
};

// Makes `sum`, which must live until the value was used, a value that these functions understand; NULL for others.
void ResultSum(sqlite3_context* out, const ColumnSum& sum);

// Takes the place of SQLite's functions on a connection, all of whose rows must come summed up. `set` must outlive it.
// Returns SQLite's code.
int RegisterSumFunctions(sqlite3* db, TraceSet& set);

}  // namespace kprof
