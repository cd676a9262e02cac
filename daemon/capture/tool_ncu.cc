// The tool `ncu`: Nsight Compute replays each kernel of the command until all counters are read. The report has every
// launch with its metrics, sections, rules and, with --source, its source and SASS. Wall times say nothing here.
#include <iterator>

#include "daemon/capture/ncu_plan.h"
#include "daemon/launch/ncu_metrics.h"

namespace kprof {
namespace {

constexpr ToolOption kNcuOptions[] = {
    {.name = "set",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Sections to collect: basic, detailed, full, roofline (default: full, unless --section names some)"},
    {.name = "section",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Sections by their identifiers, with commas between: SpeedOfLight,Occupancy"},
    {.name = "metrics",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Metrics beside those that kprof's analyses read, with commas between"},
    kStages,
    {.name = "launch-skip",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Launches to leave out before the first that is profiled, of those that the filters let through"},
    {.name = "launch-skip-before-match",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Launches to leave out first, whatever the filters say of them"},
    {.name = "launch-count",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Launches to profile (default: all)"},
    {.name = "kernel-name",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Profile kernels whose demangled name this regular expression matches"},
    {.name = "kernel-id",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Profile one invocation, as ncu says it: CONTEXT:STREAM:[NAME]:INVOCATION"},
    {.name = "nvtx",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Profile kernels in this NVTX range (several: commas between), or in ncu's own language: D@range/"},
    {.name = "nvtx-exclude",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Leave out kernels in this NVTX range; as --nvtx says it"},
    {.name = "profile-from-start",
     .type = ToolOptionType::kText,
     .usual = "on",
     .meaning = "off: profile nothing before the program calls cudaProfilerStart"},
    {.name = "graph-profiling",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "CUDA graphs by node (ncu's default), or each graph whole: graph"},
    {.name = "replay-mode",
     .type = ToolOptionType::kText,
     .usual = "kernel",
     .meaning = "kernel, application, range or app-range"},
    {.name = "source",
     .type = ToolOptionType::kSwitch,
     .usual = "false",
     .meaning = "Keep source and SASS in the report, with their counters"},
    kCacheControl,
    {.name = "retry",
     .type = ToolOptionType::kInteger,
     .usual = "0",
     .meaning = "More tries after an error that passes: after autotuning, or counters in use"},
};

Result<ToolPlan> PlanNcu(const PlanInput& input) {
  NcuChoice choice;
  choice.sets = CommaList(input.options["set"]);
  choice.sections = CommaList(input.options["section"]);
  if (choice.sets.empty() && choice.sections.empty()) choice.sets = {"full"};
  choice.metrics.assign(std::begin(kLightNcuMetrics), std::end(kLightNcuMetrics));
  choice.metrics.insert(choice.metrics.end(), std::begin(kFullNcuMetrics), std::end(kFullNcuMetrics));
  choice.users_metrics = CommaList(input.options["metrics"]);
  choice.nvtx_ranges = RangeList(input.options["nvtx"]);
  choice.nvtx_excluded = RangeList(input.options["nvtx-exclude"]);
  choice.with_source = input.options.IsOn("source");
  if (choice.with_source) choice.sections.emplace_back("SourceCounters");
  return PlanWithNcu(input, choice);
}

}  // namespace

extern const Tool kNcuTool;
const Tool kNcuTool{
    .name = "ncu",
    .summary = "counters of every kernel launch, by Nsight Compute",
    .has_charts = true,
    .needs = {.clocks = "lock", .ncu_lock = true, .dcgm_paused = true, .program = "ncu"},
    .options = kNcuOptions,
    .outputs = kNcuOutputs,
    .check = &CheckNcuOptions,
    .probe = &ProbeNcu,
    .plan = &PlanNcu,
    .judge = &JudgeNcu,
};

}  // namespace kprof
