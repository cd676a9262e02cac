// The first look at a report of kernels, for `summary`: the kernels with most time, what bounds each, and the findings
// with the largest gains.
//
// One thread, that of the readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/analysis_kind.h"

namespace kprof {

// Columns of the rows that AddReportSummary adds to the table of kernels.
std::vector<AnalysisColumn> MeasuredKernelColumns();

// All that a report has measured.
struct ReportTotals {
  int64_t kernels = 0;
  int64_t launches = 0;
  std::optional<double> total_ns;  // of launches with a duration; nothing: none has
};

// Adds rows of kernels to table `kernels`, and to table `findings` the three largest findings, each code once, as
// `summary` has their columns. Takes the options of findings that are there. Adds nothing where no part has a report.
// Fails as reading does.
Result<ReportTotals> AddReportSummary(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop, size_t kernels, size_t findings, AnalysisAnswer& answer);

}  // namespace kprof
