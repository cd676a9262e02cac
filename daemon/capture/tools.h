// The list of all tools, how a name finds one, and what of a request is checked by a tool's row. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/tool.h"

namespace kprof {

// In the order in which they are named to users.
std::span<const Tool* const> AllTools();

// Null for a name that no tool has.
const Tool* FindTool(std::string_view name);

// "command, ..."
std::string ToolNames();

// `given`: "name=value", each at most once. kUsage for an option that the tool has not, and for a value that is none
// of its type.
Result<ToolOptions> ReadToolOptions(const Tool& tool, const std::vector<std::string>& given);

// The same, and whether there is a command. kUsage: nothing is queued then.
Status CheckToolRequest(const Tool& tool, const std::vector<std::string>& argv,
                        const std::vector<std::string>& options);

}  // namespace kprof
