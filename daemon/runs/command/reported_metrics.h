// Reads the lines that a command wrote to $KPROF_METRICS as metrics of its run: a JSON object a line, with `name` and
// `value`, and where it likes `unit`, `kernel` and `launch`. kprofd reads them, not the supervisor: that is a process
// of the caller's where daemon and caller are two users, and its word would have to be checked again.
//
// Bounded: the text (kMostMetricTextBytes), the rows and their texts. A line that is no metric is left out; the run's
// trust says how many there are, and what is wrong with the first.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

inline constexpr char kMetricsNotUnderstood[] = "metrics_not_understood";
inline constexpr char kMetricsDropped[] = "metrics_dropped";

constexpr size_t kMostReportedTotals = 256;
constexpr size_t kMostReportedKernelMetrics = 2'048;
constexpr size_t kMostMetricNameBytes = 200;
constexpr size_t kMostMetricUnitBytes = 32;
constexpr size_t kMostKernelNameBytes = 4'096;

// The metric of a line. kBadInput: why it is none.
Result<MetricRow> ReadMetricLine(std::string_view line);

struct ReportedMetrics {
  struct Row {
    MetricRow metric;
    int64_t line = 0;  // from 1
  };
  std::vector<Row> rows;  // the last of each kernel, launch and name; in the order of the first ones
  int64_t lines = 0;      // not empty ones
  int64_t bad_lines = 0;
  std::string first_bad;  // "line 3: it has no name"
  int64_t left_out = 0;   // rows beyond the bounds
  int64_t dropped_bytes = 0;

  // Counts a line that is no metric.
  void NoteBad(int64_t line, const std::string& why);
};

ReportedMetrics ReadReportedMetrics(std::string_view text, int64_t dropped_bytes);

// Adds metrics without a kernel to the run's row, the others to `kernel_metrics`, and reasons for those that are
// missing to its trust. A name that the row has already stays as it is: kprofd measured that itself.
void AddReportedMetrics(ReportedMetrics reported, RunRow& row, std::vector<MetricRow>& kernel_metrics);

}  // namespace kprof
