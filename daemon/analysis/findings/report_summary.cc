#include "daemon/analysis/findings/report_summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "daemon/analysis/findings/report_findings.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"

namespace kprof {
namespace {

constexpr size_t kMostMeasured = 10;
constexpr size_t kMostReportFindings = 3;

AnalysisValue RealOrNull(const std::optional<double>& value) {
  return value ? AnalysisValue(*value) : AnalysisValue();
}
AnalysisValue RoundedNs(const std::optional<double>& ns) {
  return ns ? AnalysisValue(static_cast<int64_t>(std::llround(std::min(*ns, 9e18)))) : AnalysisValue();
}

}  // namespace

std::vector<AnalysisColumn> MeasuredKernelColumns() {
  using enum AnalysisType;
  return {{"run", kText, "", "The run", true},
          {"name", kText, "", "A kernel of a report"},
          {"launches", kInteger, "", "That were measured"},
          {"duration_ns", kReal, "ns", "Of a launch, on average"},
          {"total_ns", kReal, "ns", "Of all launches"},
          {"percent", kReal, "percent", "total_ns of that of all measured kernels"},
          {"bottleneck", kText, "", "As in roofline"},
          {"efficiency_percent", kReal, "percent", "As in roofline"},
          {"compute_sol_percent", kReal, "percent", "As in roofline"},
          {"memory_sol_percent", kReal, "percent", "As in roofline"},
          {"dram_percent", kReal, "percent", "As in roofline"},
          {"occupancy_percent", kReal, "percent", "Achieved occupancy"},
          {"attainable_percent", kReal, "percent", "As in roofline"},
          {"device_name", kText, "", "Its kind; null: nobody knows it"},
          {"key_issue", kText, "", "The code of the finding with the largest gain; null: there is none"}};
}

Result<ReportTotals> AddReportSummary(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop, size_t kernels, size_t findings, AnalysisAnswer& answer) {
  ASSIGN_OR_RETURN(const ChosenPolicy policy, ChosenPolicy::Read(RooflinePolicies().front().name));
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(traces, KernelReports::WantedOf(options), stop));
  ASSIGN_OR_RETURN(const ReportFindings found, ReportFindings::Find(traces, reports, policy, {}, stop));
  ReportTotals totals{.kernels = static_cast<int64_t>(reports.kernels().size()),
                      .launches = static_cast<int64_t>(reports.launches().size())};
  for (size_t i = 0; i < reports.launches().size(); ++i) {
    const std::optional<double> ns = reports.DurationNs(i);
    if (ns) totals.total_ns = totals.total_ns.value_or(0) + *ns;
  }
  const double whole_ns = totals.total_ns.value_or(0);
  std::map<const ReportKernel*, std::string> issues;
  std::map<std::string, int64_t> counts;
  for (const ReportFinding& one : found.findings()) {
    if (one.gain_percent.value_or(0) > 0) issues.try_emplace(one.kernel, one.code);
    ++counts[one.code];
  }
  for (size_t i = 0; i < std::min(found.figures().size(), kMostMeasured); ++i) {
    const KernelFigures& of = found.figures()[i];
    const JudgedKernel& judged = of.judged();
    const auto issue = issues.find(&of.kernel());
    const std::string& device = of.roof().device_name();
    RETURN_IF_ERROR(answer.AddRow(
        kernels,
        {of.kernel().run, of.kernel().name, static_cast<int64_t>(of.kernel().launches.size()),
         judged.duration ? AnalysisValue(judged.duration->mean) : AnalysisValue(),
         judged.duration ? AnalysisValue(judged.duration->sum) : AnalysisValue(),
         judged.duration && whole_ns > 0 ? AnalysisValue(100 * judged.duration->sum / whole_ns) : AnalysisValue(),
         std::string(BottleneckName(judged.verdict.bottleneck)), RealOrNull(judged.verdict.efficiency),
         RealOrNull(judged.percents.compute), RealOrNull(judged.percents.memory), RealOrNull(judged.percents.dram),
         RealOrNull(of.Find(Quantity::kAchievedOccupancy)), RealOrNull(of.point().percent),
         device.empty() ? AnalysisValue() : AnalysisValue(device),
         issue == issues.end() ? AnalysisValue() : AnalysisValue(issue->second)}));
  }
  // The gain as a share of all that was measured: half of a kernel that takes 2 % of the time is 1 %.
  const auto share_of = [whole_ns](const ReportFinding& of) -> std::optional<double> {
    return of.gain_ns && whole_ns > 0 ? std::optional(100 * *of.gain_ns / whole_ns) : std::nullopt;
  };
  std::set<std::string> shown;
  for (const ReportFinding& one : found.findings()) {
    if (shown.size() == kMostReportFindings) break;
    if (!shown.insert(one.code).second) continue;
    RETURN_IF_ERROR(answer.AddRow(
        findings, {one.kernel->run, one.code, one.message, one.kernel->name, RealOrNull(share_of(one)),
                   EvidenceJson(one.evidence), one.hint, one.source, RoundedNs(one.gain_ns), ValueOf(one.kernel->rank),
                   ValueOf(one.device), "kprofctl analyze findings " + one.kernel->run, counts[one.code]}));
  }
  return totals;
}

}  // namespace kprof
