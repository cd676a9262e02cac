#include "daemon/capture/tools.h"

#include "daemon/capture/tool_command.h"

namespace kprof {
namespace {

// All tools, in the order in which they are named to users.
const Tool* const kTools[] = {
    &CommandTool(),
};

}  // namespace

const Tool* FindTool(std::string_view name) {
  for (const Tool* tool : kTools) {
    if (tool->name() == name) return tool;
  }
  return nullptr;
}

std::string ToolNames() {
  std::string names;
  for (const Tool* tool : kTools) names += (names.empty() ? "" : ", ") + std::string(tool->name());
  return names;
}

}  // namespace kprof
