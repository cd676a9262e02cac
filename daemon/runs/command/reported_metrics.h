// What a command wrote to $KPROF_METRICS, as metrics of its run: a JSON object a line, with `name` and `value`, and
// where it likes `unit`, `kernel` and `launch`. It is read here and not by the supervisor, which is its caller's own
// process where daemon and caller are two users: whatever it said of these lines would have to be checked again.
//
// Bounded: the text (kMostMetricTextBytes), the rows and their texts. A line that is no metric is left out; how many
// there are, and what is wrong with the first, is said in the run's trust.
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

// The metric that a line says. kBadInput: why it is none.
Result<MetricRow> ReadMetricLine(std::string_view line);

struct ReportedMetrics {
  struct Row {
    MetricRow metric;
    int64_t line = 0;  // from 1
  };
  std::vector<Row> rows;  // of those of one kernel, launch and name the last; in the order of the first
  int64_t lines = 0;      // that are not empty
  int64_t bad_lines = 0;
  std::string first_bad;  // "line 3: it has no name"
  int64_t left_out = 0;   // rows beyond the bounds
  int64_t dropped_bytes = 0;

  // One more line that is no metric.
  void NoteBad(int64_t line, const std::string& why);
};

ReportedMetrics ReadReportedMetrics(std::string_view text, int64_t dropped_bytes);

// Adds them to the run: those without a kernel to its row, the others to `kernel_metrics`, and to its trust what is not
// there. A name that the row has already is what kprofd measured itself, and stays that.
void AddReportedMetrics(ReportedMetrics reported, RunRow& row, std::vector<MetricRow>& kernel_metrics);

}  // namespace kprof
