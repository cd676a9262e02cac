// All that a report measured of some kernels: each metric with its spread over the launches, also those that no
// analysis uses, and metrics whose values are texts. KernelReports keeps every value of the metrics that analyses use;
// here sums are kept, so that a thousand metrics of many launches take little memory.
//
// One thread, that of the readers. Memory, which the traces' take_memory is asked for: about 200 bytes for each kernel
// and metric. Costs a pass over the tables of numbers and texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// A metric of a kernel over its launches: numbers as ReportSpread has them, or texts.
struct MeasuredMetric {
  std::string name;
  std::string unit;  // as the report has it; empty: none
  double mean = 0;
  double min = 0;
  double max = 0;
  int64_t launches = 0;            // that have a number
  std::vector<std::string> texts;  // different ones, kMostTexts at most

  bool is_number() const { return launches > 0; }
  bool is_zero() const { return is_number() && min == 0 && max == 0; }
};

class MeasuredMetrics {
 public:
  static constexpr size_t kMostTexts = 4;       // of a metric
  static constexpr size_t kMostMetrics = 4096;  // of a kernel

  // Reads those of these kernels, which are places among KernelReports::kernels(). Fails as reading does.
  static Result<MeasuredMetrics> Read(const AnalysisTraces& traces, const KernelReports& reports,
                                      const std::set<size_t>& kernels, const StopSignal& stop);

  // In the order in which the report has them.
  const std::vector<MeasuredMetric>& Of(size_t kernel) const;
  // Null: the kernel does not have it.
  const MeasuredMetric* Find(size_t kernel, std::string_view name) const;
  // Names of metrics beyond kMostMetrics were left out.
  bool is_cut(size_t kernel) const;

 private:
  class PartLoader;
  struct Kernel {
    std::vector<MeasuredMetric> metrics;
    std::map<std::string, size_t, std::less<>> places;
    bool is_cut = false;
  };

  explicit MeasuredMetrics(const AnalysisTraces& traces)
      : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}

  std::unique_ptr<MemoryCharge> charge_;
  std::map<size_t, Kernel> kernels_;
};

}  // namespace kprof
