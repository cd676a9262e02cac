// The list of all tools, and how a name finds one. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/capture/tool.h"

namespace kprof {

// Null for a name that no tool has.
const Tool* FindTool(std::string_view name);

// "command, ..."
std::string ToolNames();

}  // namespace kprof
