// Kernels of reports with the verdict of a policy, and the small things that all kinds of analyses of reports share.
//
// One thread, that of the readers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/roofline_policies.h"

namespace kprof {

struct JudgedKernel {
  std::optional<ReportSpread> duration;
  RoofPercents percents;
  RoofVerdict verdict;                     // with warnings on percentages that are missing or impossible
  std::optional<double> least_efficiency;  // of a launch
  std::optional<double> most_efficiency;
};

RoofPercents PercentsOf(const KernelReports& reports, size_t launch);
// By time, over the launches of the kernel.
RoofPercents PercentsOf(const KernelReports& reports, const ReportKernel& kernel);
JudgedKernel JudgeKernel(const KernelReports& reports, const ReportKernel& kernel, const ChosenPolicy& policy);

// The name of the kernel's device: the report's, else that of the trace where it has one kind of devices; empty.
std::string DeviceNameOf(const AnalysisTraces& traces, const KernelReports& reports, const ReportKernel& kernel);

// ["a","b"]
std::string JsonOfTexts(const std::vector<std::string>& texts);
std::string JsonQuoted(const std::string& text);

// Sorts the parts of traces by what they have: reports of kernels, events, or both.
class ReportParts {
 public:
  explicit ReportParts(const AnalysisTraces& traces);

  bool has_reports() const { return has_reports_; }
  // True where a part has events, and where no part has a report: then there is nothing else to ask.
  bool has_events() const { return !with_events_.parts().empty() || !has_reports_; }
  // Beside reports, the parts with slices; without any, all parts.
  const AnalysisTraces& with_events() const { return with_events_; }

 private:
  static AnalysisTraces EventsOf(const AnalysisTraces& traces, bool has_reports);

  bool has_reports_ = false;
  AnalysisTraces with_events_;
};

// Says why the answer is empty, and of launches without a duration.
void AddReportNotes(const AnalysisTraces& traces, const KernelReports& reports, AnalysisAnswer& answer);

}  // namespace kprof
