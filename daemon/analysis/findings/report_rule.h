// A finding of kernel reports is a row of rules, as one of traces is (finding_rule.h): the quantities that it needs,
// when it is one, what share of the kernel's time could be gained, what to do, and who says so. A quantity that a
// report does not have makes the rule not evaluated: nothing is guessed.
//
// A rule is a function in a .cc of this folder and a row of report_findings.inc; docs/analyses/findings.md has a row
// for it. Values; one thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/kernel_work.h"

namespace kprof {

// The numbers of a kernel that rules ask for.
class KernelFigures {
 public:
  static Result<KernelFigures> Of(const AnalysisTraces& traces, const KernelReports& reports,
                                  const ReportKernel& kernel, const ChosenPolicy& policy);

  const ReportKernel& kernel() const { return *kernel_; }
  const JudgedKernel& judged() const { return judged_; }
  const KernelRoof& roof() const { return roof_; }
  const KernelWork& work() const { return work_; }
  const RoofPoint& point() const { return point_; }

  // The mean over launches, by time where it is a percentage or a rate.
  const std::optional<ReportSpread>& Spread(Quantity quantity) const { return spreads_[static_cast<size_t>(quantity)]; }
  std::optional<double> Find(Quantity quantity) const;
  // REQUIRES: it has a value.
  double operator[](Quantity quantity) const { return *Find(quantity); }
  // 0 where it is not known.
  double compute() const { return judged_.percents.compute.value_or(0); }
  double memory() const { return judged_.percents.memory.value_or(0); }
  // The percentages of single memories; 0 where they are not known.
  double dram() const { return judged_.percents.dram.value_or(0); }
  double l2() const { return judged_.percents.l2.value_or(0); }
  double l1() const { return judged_.percents.l1.value_or(0); }
  // At most so much is saved by whatever relieves other units than one of this throughput.
  static double SavedAtMost(double throughput) { return 100 - throughput; }
  // From the busiest unit's throughput to 100 percent.
  double headroom() const { return judged_.verdict.headroom.value_or(100); }

 private:
  const ReportKernel* kernel_ = nullptr;
  std::array<std::optional<ReportSpread>, kQuantities> spreads_;
  JudgedKernel judged_;
  KernelRoof roof_;
  KernelWork work_;
  RoofPoint point_;
};

struct ReportRule {
  const char* code = "";      // in snake_case; stable
  const char* category = "";  // memory, compute, underutilized: the class of bottleneck that it explains
  // Sets of quantities: of one of them all must have values, and the first such set is the evidence.
  std::vector<std::vector<Quantity>> needs;
  bool (*is_triggered)(const KernelFigures& of) = nullptr;
  // The quantity that says most, and comes first in the evidence; null: the first that is needed.
  Quantity (*trigger)(const KernelFigures& of) = nullptr;
  // At most so much of the kernel's time: from 0 to 100.
  double (*gain_percent)(const KernelFigures& of) = nullptr;
  std::string (*message)(const KernelFigures& of) = nullptr;
  const char* cause = "";      // in a few words
  const char* hint = "";       // what to do
  const char* rationale = "";  // why that helps
  const char* source = "";     // a public document that says so
};

// In the order in which they are documented.
std::span<const ReportRule> ReportRules();

// For messages: "12.3", "12.3 %".
std::string TextOfNumber(double value);
std::string TextOfPercent(double value);

}  // namespace kprof
