#include "daemon/capture/tool_command.h"

namespace kprof {
namespace {

class Command final : public Tool {
 public:
  std::string_view name() const override { return "command"; }
  // It need not measure time, nor anything on a device.
  std::string_view usual_clocks() const override { return "none"; }

  Status Check(const ToolRequest& request) const override {
    if (request.argv.empty() || request.argv[0].empty()) {
      return Fail(ErrorCode::kUsage, "capture command", "no command was given", "put it after --");
    }
    return OkStatus();
  }

  Result<ToolPlan> Plan(const ToolRequest& request) const override {
    return ToolPlan{request.argv, request.environment};
  }
};

}  // namespace

const Tool& CommandTool() {
  static const Command tool;
  return tool;
}

}  // namespace kprof
