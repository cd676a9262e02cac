// The side table `metric`: measured numbers of kernels and their launches, a row each (docs/trace_format.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/trace/format/side_table.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {

// Its columns, in their order.
enum class MetricColumn : uint8_t { kKernel, kLaunch, kName, kValue, kUnit };
const SideTable& MetricSideTable();

// One metric of one kernel over all of its launches.
struct KernelMetric {
  std::string kernel;
  std::string name;
  std::string unit;
  double mean = 0;       // of the rows with a value; NaN: there are none
  int64_t launches = 0;  // rows
};

struct KernelMetrics {
  std::vector<KernelMetric> metrics;  // kernels, and the metrics of each, in the order of their first rows
  int64_t rows = 0;                   // of the whole table
  int64_t left_out = 0;               // metrics of kernels beyond the bounds
};

// Bounds of SumKernelMetrics: so many kernels, so many metrics of each, and no texts longer than that.
struct KernelMetricBounds {
  size_t most_kernels = 64;
  size_t most_names = 32;
  size_t most_text_bytes = 4096;
};
// Sums the table up for the catalog, which keeps a few rows of it, within `bounds`. No metrics when the part has no
// such table, or one with other columns. Fails as PartReader does. Reads all of the table.
Result<KernelMetrics> SumKernelMetrics(PartReader& part, const KernelMetricBounds& bounds);

}  // namespace kprof
