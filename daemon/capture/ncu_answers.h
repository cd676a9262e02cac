// The answers of an installed ncu: its version, and the metrics of the devices that it sees. To ask costs seconds, so
// the answers are kept in the caller's cache folder ($XDG_CACHE_HOME/kprof, else $HOME/.cache/kprof): one file for each
// program (path, size, time of its last change) and set of visible devices.
//
// kprof-launch asks, as the caller, on the run's devices, before the command: AskNcu gives the questions, and when they
// are answered ReadNcuAnswers reads them. Both block for small files.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/tool.h"

namespace kprof {

struct NcuAnswers {
  std::string version;  // "2024.3.1.0"; empty: it told none
  // Names without the part behind their first dot, of metrics that all visible devices have; none: it told none.
  std::optional<std::set<std::string, std::less<>>> metrics;

  // Also true for one that is no counter of the device, and where nothing is known.
  bool HasMetric(std::string_view metric) const;
};

// Empty where the answers are known.
std::vector<ToolStep> AskNcu(const PlanInput& input);

// Also keeps them for the next run, where they are new and complete.
NcuAnswers ReadNcuAnswers(const PlanInput& input);

// The names in what `ncu --query-metrics` prints; none: there are none in it.
std::optional<std::set<std::string, std::less<>>> MetricNamesIn(std::string_view text);

// At most `most_bytes` of a file, from its begin; of a longer one also `most_bytes` of its end. Empty where it cannot
// be read. Follows no link.
std::string ReadToolFile(const std::string& path, size_t most_bytes);

}  // namespace kprof
