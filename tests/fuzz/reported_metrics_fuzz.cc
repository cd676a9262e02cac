// What a command writes to $KPROF_METRICS: any bytes are metrics or are counted, within the bounds.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/runs/command/reported_metrics.h"
#include "storage/base/readable_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kprof;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ReportedMetrics reported = ReadReportedMetrics(text, size % 2 == 0 ? 0 : 5);
  KPROF_CHECK(reported.bad_lines + static_cast<int64_t>(reported.rows.size()) + reported.left_out <= reported.lines);
  for (const ReportedMetrics::Row& row : reported.rows) {
    const MetricRow& metric = row.metric;
    KPROF_CHECK(!metric.name.empty() && metric.name.size() <= kMostMetricNameBytes && IsUtf8(metric.name));
    KPROF_CHECK(metric.kernel.size() <= kMostKernelNameBytes && IsUtf8(metric.kernel) && std::isfinite(metric.value));
  }
  RunRow run;
  run.metrics = {{.name = "wall_ns"}};
  std::vector<MetricRow> kernels;
  AddReportedMetrics(reported, run, kernels);
  KPROF_CHECK(run.metrics.size() <= 1 + kMostReportedTotals && kernels.size() <= kMostReportedKernelMetrics);
  return 0;
}
