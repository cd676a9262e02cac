#include "daemon/runs/imports/part_metrics.h"

#include <cmath>
#include <memory>
#include <utility>

#include "storage/trace/read/column_cache.h"
#include "storage/trace/read/part_reader.h"

namespace kprof {
namespace {

constexpr int64_t kReadingBytes = 16 << 20;

bool IsSame(const KernelMetric& a, const KernelMetric& b) {
  return a.kernel == b.kernel && a.name == b.name && a.unit == b.unit;
}

// Of two parts: each mean as heavy as its rows are many.
void AddMean(KernelMetric& to, const KernelMetric& more) {
  if (std::isnan(to.mean)) {
    to.mean = more.mean;
  } else if (!std::isnan(more.mean)) {
    const auto both = static_cast<double>(to.launches + more.launches);
    to.mean += (more.mean - to.mean) * (static_cast<double>(more.launches) / both);
  }
  to.launches += more.launches;
}

MetricRow CountRow(const char* name, int64_t value) {
  return {.name = name, .value = static_cast<double>(value), .unit = "count"};
}

}  // namespace

Status PartMetrics::Add(const std::string& part_path) {
  ColumnCache cache(kReadingBytes);
  ASSIGN_OR_RETURN(const std::unique_ptr<PartReader> part, PartReader::Open(part_path, cache));
  ASSIGN_OR_RETURN(KernelMetrics of_part, SumKernelMetrics(*part, {}));
  rows_ += of_part.rows;
  left_out_ += of_part.left_out;
  // Parts of one job have the same kernels, mostly in the same order.
  size_t guess = 0;
  for (KernelMetric& metric : of_part.metrics) {
    size_t at = guess;
    if (at >= kept_.size() || !IsSame(kept_[at], metric)) {
      for (at = 0; at < kept_.size() && !IsSame(kept_[at], metric);) ++at;
    }
    guess = at + 1;
    if (at < kept_.size()) {
      AddMean(kept_[at], metric);
    } else if (kept_.size() < kMostRows) {
      kept_.push_back(std::move(metric));
    } else {
      ++left_out_;
    }
  }
  return OkStatus();
}

void PartMetrics::Finish(std::vector<MetricRow>& metrics, std::vector<MetricRow>& kernel_metrics) {
  if (rows_ == 0) return;
  metrics.push_back(CountRow("kernel_metric_rows", rows_));
  if (left_out_ > 0) metrics.push_back(CountRow("kernel_metrics_left_out", left_out_));
  for (KernelMetric& metric : kept_) {
    kernel_metrics.push_back({.name = std::move(metric.name),
                              .value = metric.mean,
                              .unit = std::move(metric.unit),
                              .kernel = std::move(metric.kernel)});
  }
}

}  // namespace kprof
