#include "daemon/runs/planned_launch.h"

#include <utility>

#include "daemon/capture/tools.h"

namespace kprof {

Result<LaunchRequest> PlannedLaunch(const std::string& tool_name, LaunchRequest callers) {
  const Tool* tool = FindTool(tool_name);
  KPROF_CHECK(tool != nullptr);
  ASSIGN_OR_RETURN(ToolPlan plan, tool->Plan({callers.argv, callers.environment, callers.cwd}));
  callers.argv = std::move(plan.argv);
  callers.environment = std::move(plan.environment);
  return callers;
}

}  // namespace kprof
