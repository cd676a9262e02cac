#include "daemon/analysis/functions/kernel_reports/stage_launches.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kprof {
namespace {

// "outer/attention/inner" has "attention", "outer/attention" and "attention/inner".
bool HasRange(const std::string& ranges, const std::string& name) {
  return ("/" + ranges + "/").find("/" + name + "/") != std::string::npos;
}

// The name without its parameters and namespaces: "void ns::f<int>(int*)" is f.
std::string_view BareName(std::string_view name) {
  size_t depth = 0;
  size_t begin = 0;
  size_t end = name.size();
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if ((c == '<' || c == '(') && depth++ == 0 && i > begin) {
      end = i;
      break;
    }
    if (c == ' ' || c == ':') begin = i + 1;
  }
  return name.substr(begin, end - begin);
}

}  // namespace

std::vector<StageLaunches> FindStage(const KernelReports& reports, const StageCost& stage) {
  std::vector<uint8_t> has_range(reports.ranges().size());
  for (size_t i = 0; i < has_range.size(); ++i) has_range[i] = HasRange(reports.ranges()[i], stage.stage);
  using Accepts = bool (*)(const ReportKernel& kernel, const std::string& name);
  constexpr std::pair<std::string_view, Accepts> kWays[] = {
      {"range", nullptr},
      {"function",
       [](const ReportKernel& kernel, const std::string& name) {
         return kernel.name == name || kernel.function == name || BareName(kernel.name) == name;
       }},
      {"name", [](const ReportKernel& kernel, const std::string& name) { return kernel.name.find(name) != name.npos; }},
  };
  for (const auto& [way, accepts] : kWays) {
    std::map<std::pair<std::string, std::optional<int64_t>>, StageLaunches> found;
    for (const ReportKernel& kernel : reports.kernels()) {
      size_t of_kernel = 0;
      double ns = 0;
      std::vector<size_t> launches;
      for (const size_t launch : kernel.launches) {
        const bool is_of_stage =
            accepts == nullptr ? has_range[reports.launches()[launch].range] != 0 : accepts(kernel, stage.stage);
        if (!is_of_stage) continue;
        ++of_kernel;
        ns += reports.DurationNs(launch).value_or(0);
        launches.push_back(launch);
      }
      if (of_kernel == 0) continue;
      StageLaunches& of = found[{kernel.run, kernel.rank}];
      of.run = kernel.run;
      of.rank = kernel.rank;
      of.found_by = way;
      if (of.longest == nullptr) of.longest = &kernel;  // the longest kernels come first
      of.launches.insert(of.launches.end(), launches.begin(), launches.end());
      ++of.kernels;
      of.ns += ns;
      const auto times = static_cast<double>(of_kernel);
      of.times = of.times == 0 ? times : std::min(of.times, times);
    }
    if (found.empty()) continue;
    std::vector<StageLaunches> stages;
    for (auto& [key, of] : found) {
      if (stage.times && *stage.times > 0) of.times = *stage.times;
      stages.push_back(std::move(of));
    }
    return stages;
  }
  return {};
}

}  // namespace kprof
