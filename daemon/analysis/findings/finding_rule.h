// A finding of traces is a row of rules: the metrics that it needs, when it is one, what could be gained, what to do,
// and who says so. A metric that a trace does not have makes the rule not evaluated: nothing is guessed.
//
// A rule is a function in a .cc of this folder and a row of findings.inc; docs/analyses/findings.md has a row for it.
// Values; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/findings/trace_metrics.h"

namespace kprof {

enum class FindingScope : uint8_t {
  kDevice,  // of one device of a part
  kRun,     // of all ranks of a run
};

struct FindingRule {
  const char* code = "";  // in snake_case; stable
  FindingScope scope = FindingScope::kDevice;
  // All of them must have values. They are the evidence, in this order; the first one is the whole of gain_percent.
  std::vector<TraceMetric> needs;
  bool (*is_triggered)(const TraceMetrics& metrics) = nullptr;
  // At most so much time is saved. At least 0.
  int64_t (*gain_ns)(const TraceMetrics& metrics) = nullptr;
  // One sentence, with the numbers that matter.
  std::string (*message)(const TraceMetrics& metrics) = nullptr;
  TraceMetrics::Subject kernel = TraceMetrics::kNoKernel;
  const char* hint = "";    // what to do
  const char* source = "";  // a public document or measurement that says so
  const char* kind = "";    // the analysis that shows more
};

// In the order in which they are documented.
std::span<const FindingRule> FindingRules();

// The metrics that a rule needs and these do not have.
std::vector<TraceMetric> MissingMetrics(const FindingRule& rule, const TraceMetrics& metrics);

// [{"metric":"launches","value":12,"unit":"count"},...]
std::string EvidenceOf(const FindingRule& rule, const TraceMetrics& metrics);

// For messages: "12.345 ms", "3.2 %".
std::string TextOfNs(int64_t ns);
std::string TextOfShare(int64_t part, int64_t whole);
// "1 gap", "12 gaps".
std::string TextOfCount(int64_t count, const std::string& one, const std::string& more);

// At least so much of the whole: in thousandths.
constexpr bool IsShare(int64_t part, int64_t whole, int64_t least_thousandths) {
  return whole > 0 && part > 0 &&
         static_cast<double>(part) * 1000 >= static_cast<double>(whole) * static_cast<double>(least_thousandths);
}

}  // namespace kprof
