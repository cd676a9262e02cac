// The tool `command`: runs the user's command as it is and measures it from outside (wall and CPU time, memory, context
// switches), which the supervisor does for every tool. Files that the command puts into KPROF_OUTPUT_DIR are kept, and
// traces among them imported.
#include "daemon/capture/tool.h"

namespace kprof {
namespace {

constexpr ToolOutput kCommandOutputs[] = {{.glob = "**", .reader = "auto"}};

Result<ToolPlan> PlanCommand(const PlanInput& input) {
  return ToolPlan{input.request.argv, input.request.environment, {}};
}

}  // namespace

extern const Tool kCommandTool;
const Tool kCommandTool{
    .name = "command",
    .summary = "runs a command as it is, and measures it from outside",
    // It need not measure time, nor anything on a device.
    .needs = {.clocks = "none"},
    .options = {},
    .outputs = kCommandOutputs,
    .plan = &PlanCommand,
};

}  // namespace kprof
