#include "daemon/analysis/findings/report_rule.h"

#include <cstdio>

namespace kprof {

#define REPORT_FINDING(Name) ReportRule Name();
#include "daemon/analysis/findings/report_findings.inc"
#undef REPORT_FINDING

std::span<const ReportRule> ReportRules() {
#define REPORT_FINDING(Name) Name(),
  static const std::vector<ReportRule> kRules = {
#include "daemon/analysis/findings/report_findings.inc"
  };
#undef REPORT_FINDING
  return kRules;
}

Result<KernelFigures> KernelFigures::Of(const AnalysisTraces& traces, const KernelReports& reports,
                                        const ReportKernel& kernel, const ChosenPolicy& policy) {
  KernelFigures figures;
  figures.kernel_ = &kernel;
  for (size_t i = 0; i < kQuantities; ++i) figures.spreads_[i] = reports.SpreadOf(kernel, static_cast<Quantity>(i));
  figures.judged_ = JudgeKernel(reports, kernel, policy);
  ASSIGN_OR_RETURN(figures.roof_, KernelRoof::Of(reports, kernel, DeviceNameOf(traces, reports, kernel)));
  figures.work_ = WorkOf(reports, kernel);
  figures.point_ = PointUnder(figures.roof_, figures.work_, MemoryLevel::kDram);
  return figures;
}

std::optional<double> KernelFigures::Find(Quantity quantity) const {
  const std::optional<ReportSpread>& spread = Spread(quantity);
  return spread ? std::optional(spread->mean) : std::nullopt;
}

std::string TextOfNumber(double value) {
  char text[400];
  std::snprintf(text, sizeof(text), value >= 1000 ? "%.0f" : "%.3g", value);
  return text;
}

std::string TextOfPercent(double value) {
  char text[400];
  std::snprintf(text, sizeof(text), "%.1f %%", value);
  return text;
}

}  // namespace kprof
