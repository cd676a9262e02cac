// The few rows that the catalog keeps of what the parts of a run measured of kernels (their side tables `metric`): each
// metric of a kernel over all of its launches, in all parts. The launches themselves stay in the parts.
//
// Blocks: on the thread that wrote the parts.
#pragma once

#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/trace/read/metric_table.h"

namespace kprof {

class PartMetrics {
 public:
  // Of a run. Which of them: those that come first.
  static constexpr size_t kMostRows = 2'048;

  // Of a finished part. Fails as PartReader does.
  Status Add(const std::string& part_path);

  // The rows of kernels, without a launch; and for the run as a whole how many rows its parts have
  // (`kernel_metric_rows`) and, where there were too many, how many metrics of kernels are left out
  // (`kernel_metrics_left_out`). Nothing where no part has any.
  void Finish(std::vector<MetricRow>& metrics, std::vector<MetricRow>& kernel_metrics);

 private:
  std::vector<KernelMetric> kept_;
  int64_t rows_ = 0;
  int64_t left_out_ = 0;
};

}  // namespace kprof
