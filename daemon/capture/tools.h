// The list of all tools, the search by name, and the check of a request against its tool's row. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/capture/tool.h"

namespace kprof {

// In the order in which they are named to users.
std::span<const Tool* const> AllTools();

// Null for a name that no tool has.
const Tool* FindTool(std::string_view name);

// "command, ..."
std::string ToolNames();

// An option of every tool: the parameters of what is measured, an object of JSON. ListTools does not name it: it is
// kprofctl's own --params.
inline constexpr std::string_view kParamsOption = "params";

// The artifact that a JSON option becomes: "params.json".
std::string JsonArtifactName(std::string_view option);

// The texts of a request's JSON options, by the names of their artifacts. `given`: as in ReadToolOptions.
std::vector<std::pair<std::string, std::string>> JsonArtifacts(const Tool& tool, const std::vector<std::string>& given);

// `given`: "name=value", each at most once. kUsage for an unknown or repeated option, and for a value of the wrong
// type.
Result<ToolOptions> ReadToolOptions(const Tool& tool, const std::vector<std::string>& given);

// The tool and its options as somebody may have typed them: "neuron", "m.neff", "--num-exec", "4". JSON is left out.
std::vector<std::string> WordsOf(const Tool& tool, const std::vector<std::string>& given);

// Also checks that there is a command, for a tool that needs one. kUsage: the request is not queued.
Status CheckToolRequest(const Tool& tool, const std::vector<std::string>& argv,
                        const std::vector<std::string>& options);

}  // namespace kprof
