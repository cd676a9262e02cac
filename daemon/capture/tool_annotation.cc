// The tool `annotation`: the first look at a kernel and its stages. NVTX ranges name the stages; ncu reads a light set
// of counters of the kernels in them. Flops and bytes of each stage come from the caller: --stages, or params.json.
#include <iterator>

#include "daemon/capture/ncu_plan.h"
#include "daemon/launch/given/json_text.h"
#include "daemon/launch/ncu_metrics.h"

namespace kprof {
namespace {

constexpr ToolOption kAnnotationOptions[] = {
    {.name = "stages",
     .type = ToolOptionType::kJson,
     .usual = "",
     .meaning = "The stages, and what each has to do: {\"NAME\": {\"flops\": N, \"bytes\": N}}, or @FILE"},
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
    {.name = "retry",
     .type = ToolOptionType::kInteger,
     .usual = "0",
     .meaning = "More tries after an error that passes: after autotuning, or counters in use"},
};

// The names in an object of stages, in a list of objects with names, or in either under "stages".
std::vector<std::string> NamesOfStages(const GivenJson& json) {
  if (const GivenJson* within = json.Find("stages")) return NamesOfStages(*within);
  if (json.kind == GivenJson::Kind::kObject) return json.names;
  std::vector<std::string> names;
  for (const GivenJson& stage : json.items) {
    const GivenJson* name = stage.Find("name");
    if (name != nullptr && name->kind == GivenJson::Kind::kText) names.push_back(name->text);
  }
  return names;
}

Status CheckAnnotation(const ToolOptions& options) {
  RETURN_IF_ERROR(CheckNcuOptions(options));
  if (options["stages"].empty()) return OkStatus();
  ASSIGN_OR_RETURN(const GivenJson json, ReadJson(options["stages"], "--stages"));
  const std::vector<std::string> names = NamesOfStages(json);
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 200 || name.find_first_of("\n\r") != std::string::npos) {
      return Fail(ErrorCode::kUsage, "read --stages", "a stage's name is empty, too long, or of several lines",
                  "name stages as the command's NVTX ranges are named");
    }
  }
  if (!names.empty()) return OkStatus();
  return Fail(ErrorCode::kUsage, "read --stages", "it names no stage",
              "write it like {\"attention\": {\"flops\": 1e12, \"bytes\": 2e9}}");
}

Result<ToolPlan> PlanAnnotation(const PlanInput& input) {
  NcuChoice choice;
  choice.sections = {"LaunchStats", "Occupancy", "SpeedOfLight"};
  choice.metrics.assign(std::begin(kLightNcuMetrics), std::end(kLightNcuMetrics));
  choice.with_nvtx = true;
  choice.names_stages = true;
  choice.nvtx_ranges = CommaList(input.options["nvtx"]);
  if (choice.nvtx_ranges.empty() && !input.options["stages"].empty()) {
    ASSIGN_OR_RETURN(const GivenJson json, ReadJson(input.options["stages"], "--stages"));
    choice.nvtx_ranges = NamesOfStages(json);
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
