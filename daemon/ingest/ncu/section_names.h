// The sections of Nsight Compute's reports: the identifiers behind the names that its CSV pages show to people.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace kprof {

struct SectionName {
  std::string_view identifier;  // "SpeedOfLight"
  std::string_view title;       // "GPU Speed Of Light Throughput"
  int64_t place = 0;
};

// By the identifier or the title; null: it is not known.
const SectionName* FindSection(std::string_view name);

// The identifier of a metric that a section shows under a label: a label alone tells none, as "Memory Throughput" is a
// share in one section and a rate in another. `unit`, a base unit or empty, is held against that of the metric, as a
// version may show another metric under the label. Empty: it is not known.
std::string_view FindMetricOfSection(std::string_view section, std::string_view label, std::string_view unit);

// The section of metrics that were asked for by their identifiers.
constexpr std::string_view kAskedMetricsTitle = "Command line profiler metrics";

}  // namespace kprof
