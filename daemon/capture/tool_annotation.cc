// The tool `annotation`: the first look at a kernel and its stages. NVTX ranges name the stages; ncu reads a light set
// of counters of the kernels in them. Flops and bytes of each stage come from the caller: --stages, or params.json.
#include <iterator>

#include "daemon/capture/ncu_plan.h"
#include "daemon/capture/tools.h"
#include "daemon/launch/given/stage_costs.h"
#include "daemon/launch/ncu_metrics.h"

namespace kprof {
namespace {

constexpr ToolOption kAnnotationOptions[] = {
    kStages,
    {.name = "nvtx",
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "Profile kernels in these NVTX ranges, commas between (default: the stages, else every kernel)"},
    {.name = "launch-skip",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Launches to leave out before the first that is profiled"},
    {.name = "launch-count",
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Launches to profile (default: all)"},
    kCacheControl,
    {.name = "retry",
     .type = ToolOptionType::kInteger,
     .usual = "0",
     .meaning = "More tries after an error that passes: after autotuning, or counters in use"},
};

Status CheckAnnotation(const ToolOptions& options, bool has_command) {
  RETURN_IF_ERROR(CheckNcuOptions(options, has_command));
  if (!options["nvtx"].empty()) return OkStatus();  // then they select nothing
  ASSIGN_OR_RETURN(const std::vector<StageCost> stages, ReadGivenStages(options["stages"], options[kParamsOption]));
  for (const StageCost& stage : stages) RETURN_IF_ERROR(CheckStageRange(stage.stage));
  return OkStatus();
}

Result<ToolPlan> PlanAnnotation(const PlanInput& input) {
  NcuChoice choice;
  choice.sections = {"LaunchStats", "Occupancy", "SpeedOfLight"};
  choice.metrics.assign(std::begin(kLightNcuMetrics), std::end(kLightNcuMetrics));
  choice.with_nvtx = true;
  choice.names_stages = true;
  choice.nvtx_ranges = RangeList(input.options["nvtx"]);
  if (choice.nvtx_ranges.empty()) {
    ASSIGN_OR_RETURN(const std::vector<StageCost> stages,
                     ReadGivenStages(input.options["stages"], input.options[kParamsOption]));
    for (const StageCost& stage : stages) choice.stages.push_back(stage.stage);
  }
  return PlanWithNcu(input, choice);
}

}  // namespace

extern const Tool kAnnotationTool;
const Tool kAnnotationTool{
    .name = "annotation",
    .summary = "the stages of a kernel by its NVTX ranges, with a light set of Nsight Compute's counters",
    .has_charts = true,
    .needs = {.clocks = "lock", .ncu_lock = true, .dcgm_paused = true, .program = "ncu"},
    .options = kAnnotationOptions,
    .outputs = kNcuOutputs,
    .check = &CheckAnnotation,
    .probe = &ProbeNcu,
    .plan = &PlanAnnotation,
    .judge = &JudgeNcu,
};

}  // namespace kprof
