// The findings of kernel reports: ReportRules() asked of each kernel, the conclusions of the profiler's own rules, and
// a diagnosis of each kernel for a program that tries to make it faster.
//
// Costs a pass over the reports' tables. One thread, that of the readers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/findings/report_rule.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/stage_launches.h"
#include "storage/base/memory_charge.h"

namespace kprof {

struct ReportEvidence {
  std::string metric;  // as the profiler calls it
  double value = 0;
  std::string unit;
  std::string interpretation;  // "DRAM throughput, healthy > 70"
};

struct ReportFinding {
  std::string code;
  std::string category;  // memory, compute, underutilized; empty: the profiler does not say
  const ReportKernel* kernel = nullptr;
  std::optional<int64_t> device;
  // At most so much of the kernel's time; nothing: nobody estimates it, or its time is not known.
  std::optional<double> gain_percent;
  std::optional<double> gain_ns;  // of all its launches
  bool is_of_one_unit = false;    // the estimate is of a unit of the device, and says little of the kernel's time
  std::string message;
  std::vector<ReportEvidence> evidence;
  std::string cause;
  std::string hint;
  std::string rationale;
  std::string source;  // an address, or `ncu`
};

struct ReportNotEvaluated {
  std::string run;
  std::string code;
  std::vector<std::string> missing;  // metrics
  int64_t kernels = 0;
};

struct ReportDiagnosis {
  const ReportKernel* kernel = nullptr;
  std::string category;  // memory, compute, underutilized, unknown
  std::string summary;
  std::string reasoning;
  std::string root_causes;  // JSON
  std::string fixes;        // JSON
};

class ReportFindings {
 public:
  // The longest kernels are asked, so many of them.
  static constexpr size_t kMostKernels = 1'000;

  // Fails as reading does. `traces` and `reports` must outlive it.
  static Result<ReportFindings> Find(const AnalysisTraces& traces, const KernelReports& reports,
                                     const ChosenPolicy& policy, const std::vector<StageCost>& stages,
                                     const StopSignal& stop);

  // The largest gains first; behind them those whose estimates are of one unit.
  const std::vector<ReportFinding>& findings() const { return findings_; }
  const std::vector<ReportNotEvaluated>& not_evaluated() const { return not_evaluated_; }
  // In the order of the reports' kernels.
  const std::vector<ReportDiagnosis>& diagnoses() const { return diagnoses_; }
  const std::vector<KernelFigures>& figures() const { return figures_; }

 private:
  void Ask(const KernelFigures& of);
  void AskStages(const AnalysisTraces& traces, const KernelReports& reports, const std::vector<StageCost>& stages);
  Status Carry(const AnalysisTraces& traces, const KernelReports& reports, const StopSignal& stop);
  Status CarryPart(const AnalysisTraces& traces, const KernelReports& reports, size_t part, const StopSignal& stop);
  void Sort();
  void Diagnose(const KernelFigures& of, const std::vector<const ReportFinding*>& findings);

  std::unique_ptr<MemoryCharge> charge_;
  std::vector<KernelFigures> figures_;
  std::vector<ReportFinding> findings_;
  std::vector<ReportNotEvaluated> not_evaluated_;
  std::vector<ReportDiagnosis> diagnoses_;
};

// [{"metric","value","unit"},...]
std::string EvidenceJson(const std::vector<ReportEvidence>& evidence);

}  // namespace kprof
