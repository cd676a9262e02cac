// Roofline, how near kernels come to what their device can do, and what bounds them: from the numbers of kernel
// reports. Docs: docs/analyses/roofline.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/kernel_work.h"
#include "daemon/analysis/functions/kernel_reports/measured_roof.h"
#include "daemon/analysis/functions/kernel_reports/roofline_policies.h"
#include "daemon/analysis/functions/kernel_reports/stage_launches.h"

namespace kprof {
namespace {

enum RooflineTable : size_t { kRoofKernels, kRoofLevels, kRoofStages, kRoofLaunches, kRoofPolicies };

constexpr AnalysisOption kRooflineOptions[] = {
    {"policy", AnalysisType::kText, "sol-95-60", "",
     "What makes a verdict of percentages, and its parameters: sol-95-60,threshold=90,tensor=5"},
    {"stages", AnalysisType::kJson, "", "",
     R"(Work of stages: {"STAGE": {"flops": N, "bytes": N, "dtype": "bf16"}}; STAGE is a range or a kernel)"
     " (default: those that captures were given)"},
    {"per-launch", AnalysisType::kBoolean, "false", "", "Also a row for each launch"},
};

AnalysisValue RealOf(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? AnalysisValue(*value) : AnalysisValue();
}
AnalysisValue RoofTruth(const std::optional<bool>& value) {
  return value ? AnalysisValue(static_cast<int64_t>(*value)) : AnalysisValue();
}
AnalysisValue WordOf(std::string_view text) {
  return text.empty() ? AnalysisValue() : AnalysisValue(std::string(text));
}
AnalysisValue ValueIn(const std::optional<Ceiling>& ceiling) {
  return ceiling ? AnalysisValue(ceiling->value) : AnalysisValue();
}

class RooflineMaker {
 public:
  RooflineMaker(const AnalysisTraces& traces, const KernelReports& reports, const ChosenPolicy& policy)
      : traces_(traces), reports_(reports), policy_(policy), answer_(traces) {}

  Result<AnalysisAnswer> Make(const std::vector<StageCost>& stages, bool is_per_launch) {
    for (const ReportKernel& kernel : reports_.kernels()) {
      RETURN_IF_ERROR(AddKernel(kernel));
      if (is_per_launch) RETURN_IF_ERROR(AddLaunches(kernel));
    }
    for (const StageCost& stage : stages) RETURN_IF_ERROR(AddStage(stage, nullptr));
    if (stages.empty()) RETURN_IF_ERROR(AddStagesOfRuns());
    RETURN_IF_ERROR(AddPolicies());
    answer_.SetFacts(
        {std::string(policy_.policy().name), static_cast<int64_t>(policy_.policy().version), policy_.ParametersJson()});
    AddReportNotes(traces_, reports_, answer_);
    return std::move(answer_);
  }

 private:
  Result<KernelRoof> RoofOf(const ReportKernel& kernel) {
    return KernelRoof::Of(reports_, kernel, DeviceNameOf(traces_, reports_, kernel));
  }

  Status AddKernel(const ReportKernel& kernel) {
    JudgedKernel judged = JudgeKernel(reports_, kernel, policy_);
    ASSIGN_OR_RETURN(const KernelRoof roof, RoofOf(kernel));
    KernelWork work = WorkOf(reports_, kernel);
    const RoofPoint point = PointUnder(roof, work, MemoryLevel::kDram);
    for (const std::string& warning : work.warnings) judged.verdict.warnings.push_back(warning);
    const MeasuredRoof measured = MeasuredRoof::Of(traces_.ceilings(), reports_, kernel, roof);
    if (!measured.warning().empty()) judged.verdict.warnings.push_back(measured.warning());
    const std::optional<ReportSpread>& duration = judged.duration;
    const auto of_duration = [&](double ReportSpread::*number) {
      return duration ? AnalysisValue((*duration).*number) : AnalysisValue();
    };
    const RoofVerdict& verdict = judged.verdict;
    const WorkKind* const most = work.most();
    const MeasuredBoth both{most != nullptr ? measured.RateOf(*most) : std::nullopt, measured.Bandwidth()};
    const ReportLaunch& first = reports_.launches()[kernel.launches.front()];
    RETURN_IF_ERROR(
        answer_.AddRow(kRoofKernels, {kernel.run,
                                      ValueOf(kernel.rank),
                                      kernel.name,
                                      static_cast<int64_t>(kernel.launches.size()),
                                      of_duration(&ReportSpread::mean),
                                      std::string(BottleneckName(verdict.bottleneck)),
                                      RealOf(verdict.efficiency),
                                      RealOf(verdict.headroom),
                                      RealOf(judged.percents.compute),
                                      RealOf(judged.percents.memory),
                                      RealOf(judged.percents.dram),
                                      RealOf(judged.percents.l2),
                                      RealOf(judged.percents.l1),
                                      WordOf(verdict.memory_level),
                                      RealOf(judged.percents.tensor),
                                      RoofTruth(verdict.uses_tensor_cores),
                                      static_cast<int64_t>(verdict.at_roofline),
                                      RealOf(judged.percents.l2_hit),
                                      verdict.is_local ? RoofTruth(!*verdict.is_local) : AnalysisValue(),
                                      of_duration(&ReportSpread::sum),
                                      of_duration(&ReportSpread::min),
                                      of_duration(&ReportSpread::p50),
                                      of_duration(&ReportSpread::max),
                                      RealOf(judged.least_efficiency),
                                      RealOf(judged.most_efficiency),
                                      most != nullptr ? WordOf(most->dtype) : AnalysisValue(),
                                      work.flops.empty() ? AnalysisValue() : AnalysisValue(work.all_flops()),
                                      RealOf(work.dram_bytes()),
                                      RealOf(point.achieved_tflops),
                                      RealOf(point.achieved_gb_s),
                                      RealOf(point.intensity),
                                      RealOf(point.ridge),
                                      RealOf(point.attainable),
                                      RealOf(point.percent),
                                      ValueIn(point.rate),
                                      ValueIn(point.bandwidth),
                                      point.bandwidth ? WordOf(point.bandwidth->confidence) : AnalysisValue(),
                                      point.rate ? WordOf(point.rate->confidence) : AnalysisValue(),
                                      point.bandwidth ? WordOf(point.bandwidth->source) : AnalysisValue(),
                                      point.rate ? WordOf(point.rate->source) : AnalysisValue(),
                                      ValueIn(both.rate),
                                      ValueIn(both.bandwidth),
                                      WordOf(both.confidence()),
                                      WordOf(both.source()),
                                      ValueOf(first.device),
                                      WordOf(roof.device_name()),
                                      JsonOfTexts(verdict.warnings)}));
    return AddLevels(kernel, roof, work);
  }

  Status AddLevels(const ReportKernel& kernel, const KernelRoof& roof, const KernelWork& work) {
    for (size_t i = 0; i < kMemoryLevels; ++i) {
      const auto level = static_cast<MemoryLevel>(i);
      if (!work.bytes[i]) continue;
      const RoofPoint point = PointUnder(roof, work, level);
      const bool has_peak = point.bandwidth && point.achieved_gb_s;
      RETURN_IF_ERROR(answer_.AddRow(
          kRoofLevels,
          {kernel.run, ValueOf(kernel.rank), kernel.name, std::string(MemoryLevelName(level)), RealOf(work.bytes[i]),
           RealOf(point.achieved_gb_s), ValueIn(point.bandwidth),
           has_peak ? AnalysisValue(100 * *point.achieved_gb_s / point.bandwidth->value) : AnalysisValue(),
           RealOf(point.intensity), RealOf(point.ridge), RealOf(point.attainable), RealOf(point.percent)}));
    }
    return OkStatus();
  }

  Status AddLaunches(const ReportKernel& kernel) {
    for (const size_t place : kernel.launches) {
      const ReportLaunch& launch = reports_.launches()[place];
      const RoofPercents percents = PercentsOf(reports_, place);
      const RoofVerdict verdict = policy_.Judge(percents);
      RETURN_IF_ERROR(answer_.AddRow(
          kRoofLaunches,
          {kernel.run, ValueOf(kernel.rank), launch.number, kernel.name, RealOf(reports_.DurationNs(place)),
           RealOf(percents.compute), RealOf(percents.memory), RealOf(percents.dram), RealOf(percents.tensor),
           RealOf(verdict.efficiency), RealOf(verdict.headroom), std::string(BottleneckName(verdict.bottleneck)),
           static_cast<int64_t>(verdict.at_roofline), ValueOf(launch.device),
           WordOf(reports_.ranges()[launch.range])}));
    }
    return OkStatus();
  }

  // Those that their captures were told.
  Status AddStagesOfRuns() {
    std::set<std::string> runs;
    for (size_t part = 0; part < traces_.parts().size(); ++part) runs.insert(traces_.run(part));
    for (const std::string& run : runs) {
      const std::string stages = traces_.KnownOf(run).stages;
      if (stages.empty()) continue;
      const Result<std::vector<StageCost>> costs = ReadStageCosts(stages, "stages");
      if (!costs.ok())
        answer_.AddNote("the stages that run " + run + " was given are left out: " + costs.status().why());
      for (const StageCost& stage : costs.ok() ? *costs : std::vector<StageCost>()) {
        RETURN_IF_ERROR(AddStage(stage, &run));
      }
    }
    return OkStatus();
  }

  // `run`: in its launches alone; null: in all.
  Status AddStage(const StageCost& stage, const std::string* run) {
    std::vector<StageLaunches> found = FindStage(reports_, stage);
    if (run != nullptr) std::erase_if(found, [run](const StageLaunches& of) { return of.run != *run; });
    if (found.empty()) {
      answer_.AddNote("stage '" + stage.stage + "': no range and no kernel has that name, so it is left out");
    }
    AddNoteOfTimes(stage, found);
    for (const StageLaunches& of : found) {
      ASSIGN_OR_RETURN(const KernelRoof roof, RoofOf(*of.longest));
      const WorkKind kind{stage.dtype, IsTensorType(roof, stage.dtype)};
      const MeasuredRoof measured = MeasuredRoof::Of(traces_.ceilings(), reports_, *of.longest, roof);
      const MeasuredBoth both{measured.RateOf(kind), measured.Bandwidth()};
      KernelWork work;
      work.ns = of.ns / of.times;
      if (stage.flops) work.flops[kind] = *stage.flops;
      work.bytes[static_cast<size_t>(MemoryLevel::kDram)] = stage.bytes;
      const RoofPoint point = PointUnder(roof, work, MemoryLevel::kDram);
      std::vector<std::string> warnings;
      if (work.ns <= 0) warnings.emplace_back("no launch of it has a duration");
      if (!measured.warning().empty()) warnings.push_back(measured.warning());
      AddWhatIsAbovePeaks(point, warnings);
      if (stage.flops && *stage.flops > 0 && !point.rate) {
        warnings.push_back(stage.dtype.empty() ? "it has no dtype, so that its peak is not known"
                                               : "no peak of " + stage.dtype + " is known for this device");
      }
      const ReportKernel launches{.run = of.run, .rank = of.rank, .launches = of.launches};
      const JudgedKernel judged = JudgeKernel(reports_, launches, policy_);
      const RoofPercents& percents = judged.percents;
      const std::optional<ReportSpread> occupancy = reports_.SpreadOf(launches, Quantity::kAchievedOccupancy);
      RETURN_IF_ERROR(answer_.AddRow(kRoofStages, {of.run,
                                                   ValueOf(of.rank),
                                                   stage.stage,
                                                   std::string(of.found_by),
                                                   static_cast<int64_t>(of.kernels),
                                                   static_cast<int64_t>(of.launches.size()),
                                                   of.times,
                                                   work.ns > 0 ? AnalysisValue(work.ns) : AnalysisValue(),
                                                   RealOf(stage.flops),
                                                   RealOf(stage.bytes),
                                                   WordOf(stage.dtype),
                                                   RealOf(point.achieved_tflops),
                                                   RealOf(point.achieved_gb_s),
                                                   RealOf(point.intensity),
                                                   RealOf(point.ridge),
                                                   RealOf(point.attainable),
                                                   RealOf(point.percent),
                                                   BoundOf(point),
                                                   ValueIn(point.rate),
                                                   ValueIn(point.bandwidth),
                                                   point.rate ? WordOf(point.rate->confidence) : AnalysisValue(),
                                                   JsonOfTexts(warnings),
                                                   RealOf(percents.tensor),
                                                   RealOf(percents.dram),
                                                   occupancy ? RealOf(occupancy->mean) : AnalysisValue(),
                                                   RealOf(percents.compute),
                                                   RealOf(percents.memory),
                                                   of.longest->name,
                                                   ValueIn(both.rate),
                                                   ValueIn(both.bandwidth),
                                                   WordOf(both.confidence()),
                                                   WordOf(both.source()),
                                                   std::string(BottleneckName(judged.verdict.bottleneck)),
                                                   WordOf(judged.verdict.memory_level)}));
    }
    return OkStatus();
  }

  static void AddWhatIsAbovePeaks(const RoofPoint& point, std::vector<std::string>& warnings) {
    const auto is_above = [](const std::optional<double>& achieved, const std::optional<Ceiling>& peak) {
      return achieved && peak && *achieved > peak->value;
    };
    if (is_above(point.achieved_gb_s, point.bandwidth)) {
      warnings.emplace_back("more bytes than DRAM can move: data stayed in L2, or the bytes are too many");
    }
    if (is_above(point.achieved_tflops, point.rate)) {
      warnings.emplace_back("more FLOP/s than the device can do: the flops are too many, or `times` is wrong");
    }
    if (point.percent && *point.percent > 100) {
      warnings.emplace_back("attainable_percent is above 100: no execution is faster than the peaks allow");
    }
  }

  // Executions that nobody told are counted from launches, which a kernel in a loop makes too many.
  void AddNoteOfTimes(const StageCost& stage, const std::vector<StageLaunches>& found) {
    if (found.empty() || (stage.times && *stage.times > 0)) return;
    const auto [least, most] = std::minmax_element(
        found.begin(), found.end(), [](const StageLaunches& a, const StageLaunches& b) { return a.times < b.times; });
    if (most->times <= 1) return;
    std::string counted = std::to_string(static_cast<int64_t>(least->times));
    if (least->times < most->times) counted += " to " + std::to_string(static_cast<int64_t>(most->times));
    answer_.AddNote("stage '" + stage.stage + "': " + counted +
                    " executions are counted, as its rarest kernel was launched so often; say `times` where that is "
                    "wrong");
  }

  // The rate of a type is that of tensor cores where there is one.
  static bool IsTensorType(const KernelRoof& roof, const std::string& dtype) {
    return roof.RateOf({dtype, true}).has_value();
  }
  // The side of the ridge that it is on.
  static AnalysisValue BoundOf(const RoofPoint& point) {
    if (!point.intensity || !point.ridge) return AnalysisValue();
    return std::string(*point.intensity > *point.ridge ? "compute" : "memory");
  }

  Status AddPolicies() {
    for (const RooflinePolicy& policy : RooflinePolicies()) {
      for (const PolicyParameter& parameter : policy.parameters) {
        const bool is_chosen = &policy == &policy_.policy();
        RETURN_IF_ERROR(answer_.AddRow(
            kRoofPolicies, {std::string(policy.name), static_cast<int64_t>(policy.version), std::string(parameter.name),
                            is_chosen ? policy_[parameter.name] : parameter.by_default, parameter.by_default,
                            std::string(parameter.meaning), static_cast<int64_t>(is_chosen)}));
      }
    }
    return OkStatus();
  }

  const AnalysisTraces& traces_;
  const KernelReports& reports_;
  const ChosenPolicy& policy_;
  AnalysisAnswer answer_;
};

Result<AnalysisAnswer> AnswerRoofline(const AnalysisTraces& traces, const AnalysisOptions& options,
                                      const StopSignal& stop) {
  ASSIGN_OR_RETURN(const ChosenPolicy policy, ChosenPolicy::Read(options.text("policy")));
  std::vector<StageCost> stages;
  if (!options.text("stages").empty()) {
    ASSIGN_OR_RETURN(stages, ReadStageCosts(options.text("stages"), "stages"));
  }
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(traces, KernelReports::WantedOf(options), stop));
  RETURN_IF_ERROR(reports.CheckSome());
  return RooflineMaker(traces, reports, policy).Make(stages, options.boolean("per-launch"));
}

std::vector<AnalysisColumn> RooflineColumns() {
  using enum AnalysisType;
  return {
      {"run", kText, "", "The run", true},
      {"rank", kInteger, "", "The rank; null where nobody knows it"},
      {"name", kText, "", "The kernel"},
      {"launches", kInteger, "", "That were measured"},
      {"duration_ns", kReal, "ns", "Of a launch, on average"},
      {"bottleneck", kText, "", "memory, compute, underutilized, balanced or unknown, by the policy"},
      {"efficiency_percent", kReal, "percent", "The higher one of compute and memory"},
      {"headroom_percent", kReal, "percent", "From there to 100"},
      {"compute_sol_percent", kReal, "percent", "Compute units, of what they could do, by time"},
      {"memory_sol_percent", kReal, "percent", "The busiest memory unit (L1, L2, DRAM), the same"},
      {"dram_percent", kReal, "percent", "DRAM alone"},
      {"l2_percent", kReal, "percent", "L2 alone"},
      {"l1_percent", kReal, "percent", "L1 alone"},
      {"memory_level", kText, "", "The busiest of the three: dram, l2 or l1"},
      {"tensor_percent", kReal, "percent", "The tensor pipe"},
      {"uses_tensor_cores", kBoolean, "", "tensor_percent is above the policy's `tensor`; null: not measured"},
      {"at_roofline", kBoolean, "", "The efficiency is the policy's `threshold` or more"},
      {"l2_hit_percent", kReal, "percent", "Sectors found in L2"},
      {"locality_issue", kBoolean, "", "That is below the policy's `hit`; null: not measured"},
      {"total_ns", kReal, "ns", "Of all launches"},
      {"min_ns", kReal, "ns", "The shortest launch"},
      {"p50_ns", kReal, "ns", "The median one"},
      {"max_ns", kReal, "ns", "The longest one"},
      {"efficiency_min_percent", kReal, "percent", "Of the launch where it is least"},
      {"efficiency_max_percent", kReal, "percent", "Of the launch where it is most"},
      {"dtype", kText, "", "The type that most of its arithmetic has; null: not counted"},
      {"flops", kReal, "", "FLOP; of all launches, as counted; null: not counted"},
      {"dram_bytes", kReal, "bytes", "Of all launches, as counted"},
      {"achieved_tflops", kReal, "", "TFLOP/s; flops in total_ns"},
      {"achieved_gb_s", kReal, "", "GB/s; dram_bytes in total_ns"},
      {"intensity_flop_per_byte", kReal, "", "FLOP/byte; flops of dram_bytes"},
      {"ridge_flop_per_byte", kReal, "", "FLOP/byte; above it the peak rate bounds, below it the bandwidth"},
      {"attainable_tflops", kReal, "", "TFLOP/s; the least of the peak and intensity x bandwidth"},
      {"attainable_percent", kReal, "percent", "The least time at the peaks, of its time"},
      {"peak_tflops", kReal, "", "TFLOP/s; of the dtype, dense"},
      {"peak_gb_s", kReal, "", "GB/s; of DRAM"},
      {"bandwidth_confidence", kText, "", "How sure peak_gb_s is: high, medium, low"},
      {"peak_confidence", kText, "", "How sure peak_tflops is"},
      {"bandwidth_source", kText, "", "Who says so"},
      {"peak_source", kText, "", "Who says so"},
      {"measured_tflops", kReal, "", "TFLOP/s; what a run reached on this device; null: none is recorded"},
      {"measured_gb_s", kReal, "", "GB/s; the same of DRAM"},
      {"measured_confidence", kText, "", "How sure these two are: high, medium, low"},
      {"measured_source", kText, "", "The run that reached them"},
      {"device", kInteger, "", "Its number; of several the first"},
      {"device_name", kText, "", "Its kind, as the report names it"},
      {"warnings", kJson, "", "What is missing or in doubt"},
  };
}

}  // namespace

AnalysisKind Roofline() {
  using enum AnalysisType;
  return {.name = "roofline",
          .version = 1,
          .question = "How near do kernels come to what their device can do, and what bounds them?",
          .options = {kReportScope, kRooflineOptions},
          .facts = {{"policy", kText, "", "The policy that made the verdicts"},
                    {"policy_version", kInteger, "", "Of its rules"},
                    {"policy_parameters", kJson, "", "Their values"}},
          .tables = {{"kernels", RooflineColumns()},
                     {"levels",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"name", kText, "", "The kernel"},
                       {"level", kText, "", "dram, l2 or l1"},
                       {"bytes", kReal, "bytes", "That it moved, of all launches"},
                       {"achieved_gb_s", kReal, "", "GB/s; in their time"},
                       {"peak_gb_s", kReal, "", "GB/s; its peak; null: not known"},
                       {"percent", kReal, "percent", "achieved_gb_s of it"},
                       {"intensity_flop_per_byte", kReal, "", "FLOP/byte; FLOP of its bytes"},
                       {"ridge_flop_per_byte", kReal, "", "FLOP/byte; as in kernels"},
                       {"attainable_tflops", kReal, "", "TFLOP/s; as in kernels"},
                       {"attainable_percent", kReal, "percent", "As in kernels"}}},
                     {"stages",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"stage", kText, "", "As option stages has it"},
                       {"found_by", kText, "", "range, function or name: of what it is the name"},
                       {"kernels", kInteger, "", "Different ones that it has"},
                       {"launches", kInteger, "", "Of them"},
                       {"times", kReal, "", "It was executed so often: as the rarest of its kernels"},
                       {"duration_ns", kReal, "ns", "Of one execution, its kernels added up"},
                       {"flops", kReal, "", "FLOP; of one execution, as its maker says"},
                       {"bytes", kReal, "bytes", "The same"},
                       {"dtype", kText, "", "The same"},
                       {"achieved_tflops", kReal, "", "TFLOP/s; flops in duration_ns"},
                       {"achieved_gb_s", kReal, "", "GB/s; bytes in duration_ns"},
                       {"intensity_flop_per_byte", kReal, "", "FLOP/byte; flops of bytes"},
                       {"ridge_flop_per_byte", kReal, "", "FLOP/byte; peak_tflops x 1000 / peak_gb_s"},
                       {"attainable_tflops", kReal, "", "TFLOP/s; the least of the peak and intensity x bandwidth"},
                       {"attainable_percent", kReal, "percent", "The least time at the peaks, of duration_ns"},
                       {"bound", kText, "", "By flops and bytes: compute above the ridge, memory below it"},
                       {"peak_tflops", kReal, "", "TFLOP/s; of the dtype, dense"},
                       {"peak_gb_s", kReal, "", "GB/s; of DRAM"},
                       {"peak_confidence", kText, "", "How sure peak_tflops is"},
                       {"warnings", kJson, "", "What is missing or in doubt"},
                       {"tensor_percent", kReal, "percent", "Of its launches, by time; the others here, too"},
                       {"dram_percent", kReal, "percent", "DRAM alone"},
                       {"occupancy_percent", kReal, "percent", "Achieved occupancy"},
                       {"compute_sol_percent", kReal, "percent", "As in kernels"},
                       {"memory_sol_percent", kReal, "percent", "As in kernels"},
                       {"longest_kernel", kText, "", "Of its kernels the one that takes most time in all"},
                       {"measured_tflops", kReal, "", "TFLOP/s; as in kernels"},
                       {"measured_gb_s", kReal, "", "GB/s; as in kernels"},
                       {"measured_confidence", kText, "", "As in kernels"},
                       {"measured_source", kText, "", "As in kernels"},
                       {"bottleneck", kText, "", "As in kernels, of its launches by time"},
                       {"memory_level", kText, "", "As in kernels"}}},
                     {"launches",
                      {{"run", kText, "", "The run", true},
                       {"rank", kInteger, "", "The rank; null where nobody knows it"},
                       {"launch", kInteger, "", "Its number in the part"},
                       {"name", kText, "", "The kernel"},
                       {"duration_ns", kReal, "ns", "How long it took"},
                       {"compute_sol_percent", kReal, "percent", "As in kernels"},
                       {"memory_sol_percent", kReal, "percent", "As in kernels"},
                       {"dram_percent", kReal, "percent", "As in kernels"},
                       {"tensor_percent", kReal, "percent", "As in kernels"},
                       {"efficiency_percent", kReal, "percent", "As in kernels"},
                       {"headroom_percent", kReal, "percent", "As in kernels"},
                       {"bottleneck", kText, "", "As in kernels"},
                       {"at_roofline", kBoolean, "", "As in kernels"},
                       {"device", kInteger, "", "The device"},
                       {"range", kText, "", "The NVTX ranges around it"}}},
                     {"policies",
                      {{"policy", kText, "", "One that option policy can name"},
                       {"version", kInteger, "", "Of its rules"},
                       {"parameter", kText, "", "That can be set"},
                       {"value", kReal, "", "Percent; as it is now"},
                       {"by_default", kReal, "", "Percent; as it is where nobody sets it"},
                       {"meaning", kText, "", "What it does"},
                       {"is_chosen", kBoolean, "", "This answer is by that policy"}}}},
          .answer = &AnswerRoofline};
}

}  // namespace kprof
