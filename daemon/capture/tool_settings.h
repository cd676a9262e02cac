// tool.json: program, version, settings and command line of a vendor's tool, for whoever compares two runs.
//
// Blocks for one small file; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/capture/tool.h"

namespace kprof {

inline constexpr std::string_view kToolSettingsFile = "tool.json";

struct ToolSettings {
  std::string version;                                       // empty: it told none
  std::vector<std::pair<std::string, std::string>> members;  // more of the object: a name, and JSON
  std::vector<std::string> argv;
};

// The file lies in the tool's folder afterwards. Where it cannot be written the run is none the worse.
void WriteToolSettings(const PlanInput& input, const ToolSettings& settings);

// ["a","b"], readable.
std::string JsonListOf(const std::vector<std::string>& texts);

}  // namespace kprof
