#include "daemon/devices/vendor_tools.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "storage/base/environment.h"

namespace kprof {
namespace {

constexpr const char* kTools[] = {"ncu", "nsys", "dcgmi", "neuron-ls", "neuron-monitor", "neuron-profile"};
// All together: they are started at once.
constexpr std::chrono::seconds kLongest{3};
constexpr size_t kMostOutputBytes = 64 << 10;

using Moment = std::chrono::steady_clock::time_point;

int LeftMs(Moment until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

// Empty where it does not end well, or in time.
std::string VersionOf(ToolProcess& tool, Moment until) {
  std::string text;
  ToolProcess::Heard heard = ToolProcess::Heard::kBytes;
  while (heard != ToolProcess::Heard::kEnd) {
    const int left_ms = LeftMs(until);
    if (left_ms == 0 || text.size() > kMostOutputBytes) return "";
    heard = tool.Read(text, left_ms);
  }
  const std::optional<int> ended = tool.AwaitEnd(LeftMs(until));
  return ended == 0 ? VersionIn(text) : "";
}

}  // namespace

std::string VersionIn(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.starts_with('v') || word.starts_with('V')) word.erase(0, 1);
    std::string version = word.substr(0, word.find_first_not_of("0123456789."));
    // "2024.4.2.133-244234382004v0", "3.3.5,"
    const bool goes_on = version.size() < word.size() && word[version.size()] != '-' && word[version.size()] != ',';
    if (version.find('.') != std::string::npos && version.front() != '.' && !goes_on) return version;
  }
  return "";
}

std::vector<VendorTool> FindVendorTools(const std::string& tool_path, OwnChildren* own) {
  const char* path = std::getenv("PATH");
  const std::string places = tool_path + (tool_path.empty() ? "" : ":") + (path == nullptr ? kStandardPath : path);
  std::vector<VendorTool> found;
  std::vector<Result<ToolProcess>> started;
  for (const char* name : kTools) {
    VendorTool tool = {name, "", ""};
    if (FindProgram(name, {"PATH=" + places}, tool.program) != 0) continue;
    started.push_back(ToolProcess::Start({tool.program, "--version"}, {"PATH=" + places, "LC_ALL=C"}, own));
    found.push_back(std::move(tool));
  }
  const Moment until = std::chrono::steady_clock::now() + kLongest;
  for (size_t i = 0; i < found.size(); ++i) {
    if (started[i].ok()) found[i].version = VersionOf(*started[i], until);
  }
  return found;
}

}  // namespace kprof
