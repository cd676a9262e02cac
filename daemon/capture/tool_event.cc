// The tool `event`: how long something takes, and with --against which of two commands is faster. The commands run in
// turns, a fresh process for each turn, on one lease; kprofd says whose turn it is and when there are enough
// (daemon/runs/event/event_turns.h). A process may report times of its own over $KPROF_EVENT (docs/event.md); where
// it reports none, the whole process is timed.
#include <charconv>
#include <string>

#include "daemon/capture/event_options.h"
#include "daemon/capture/tool.h"

namespace kprof {
namespace {

constexpr ToolOption kEventOptions[] = {
    {.name = kEventAgainst,
     .type = ToolOptionType::kText,
     .usual = "",
     .meaning = "The command to compare with, run by sh -c in turns with the command after --"},
    {.name = kEventSamples,
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning =
         "Samples of a process that reports some, of every other one three times as many; processes of each side "
         "where whole processes are timed (default: as many as the answer needs)"},
    {.name = kEventDelta,
     .type = ToolOptionType::kNumber,
     .usual = "1",
     .meaning = "A difference of less than this many percent counts as none"},
    {.name = kEventBudget,
     .type = ToolOptionType::kDuration,
     .usual = "2m",
     .meaning = "Time for processes beyond the fewest that give an answer"},
    {.name = kEventWarmUp,
     .type = ToolOptionType::kInteger,
     .usual = "1",
     .meaning = "Processes of each side to run first and leave out"},
    {.name = kEventSeed,
     .type = ToolOptionType::kInteger,
     .usual = "",
     .meaning = "Begin of the random numbers: order of the sides, resampling, inputs (default: a new one, kept in the "
                "run's metrics)"},
};

constexpr ToolOutput kEventOutputs[] = {
    {.glob = kEventSamplesFile, .reader = "event"},
    {.glob = "**", .reader = "auto"},
};

Status BadEventOption(std::string_view name, const std::string& why) {
  return Fail(ErrorCode::kUsage, "capture event", "--" + std::string(name) + " " + why, "choose another value");
}

Status CheckEvent(const ToolOptions& options, bool /*has_command*/) {
  if (!options[kEventSamples].empty() &&
      (options.Number(kEventSamples) < 1 || options.Number(kEventSamples) > kMostEventSamples)) {
    return BadEventOption(kEventSamples, "is not within 1 and " + std::to_string(kMostEventSamples));
  }
  if (options.Number(kEventWarmUp) < 0 || options.Number(kEventWarmUp) > kMostEventWarmUps) {
    return BadEventOption(kEventWarmUp, "is not within 0 and " + std::to_string(kMostEventWarmUps));
  }
  const double delta = EventDeltaPercent(options);
  if (!(delta >= kLeastEventDeltaPercent && delta <= kMostEventDeltaPercent)) {
    return BadEventOption(kEventDelta, "is not within 0.01 and 50 percent");
  }
  if (!options[kEventSeed].empty() && options.Number(kEventSeed) < 0) {
    return BadEventOption(kEventSeed, "is below 0");
  }
  return OkStatus();
}

Result<ToolPlan> PlanEvent(const PlanInput& input) {
  ToolPlan plan{.argv = input.request.argv, .environment = input.request.environment, .after = {}};
  plan.sides.push_back(input.request.argv);
  if (const std::string_view against = input.options[kEventAgainst]; !against.empty()) {
    plan.sides.push_back({"/bin/sh", "-c", std::string(against)});
  }
  return plan;
}

}  // namespace

double EventDeltaPercent(const ToolOptions& options) {
  const std::string_view text = options[kEventDelta];
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

extern const Tool kEventTool;
const Tool kEventTool{
    .name = "event",
    .summary = "how long something takes, by its own samples or as a whole process; with --against which is faster",
    .has_charts = true,
    .takes_turns = true,
    .needs = {.clocks = "lock"},
    .options = kEventOptions,
    .outputs = kEventOutputs,
    .check = &CheckEvent,
    .plan = &PlanEvent,
};

}  // namespace kprof
