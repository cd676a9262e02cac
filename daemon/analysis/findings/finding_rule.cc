#include "daemon/analysis/findings/finding_rule.h"

#include <cstdio>

namespace kprof {

#define FINDING(Name) FindingRule Name();
#include "daemon/analysis/findings/findings.inc"
#undef FINDING

std::span<const FindingRule> FindingRules() {
#define FINDING(Name) Name(),
  static const std::vector<FindingRule> kRules = {
#include "daemon/analysis/findings/findings.inc"
  };
#undef FINDING
  return kRules;
}

std::vector<TraceMetric> MissingMetrics(const FindingRule& rule, const TraceMetrics& metrics) {
  std::vector<TraceMetric> missing;
  for (const TraceMetric metric : rule.needs) {
    if (!metrics.Find(metric)) missing.push_back(metric);
  }
  return missing;
}

std::string EvidenceOf(const FindingRule& rule, const TraceMetrics& metrics) {
  std::string text = "[";
  for (const TraceMetric metric : rule.needs) {
    const MetricWords& words = WordsOf(metric);
    text += std::string(text.size() == 1 ? "" : ",") + R"({"metric":")" + words.name + R"(","value":)" +
            std::to_string(metrics[metric]) + R"(,"unit":")" + words.unit + R"("})";
  }
  return text + "]";
}

std::string TextOfNs(int64_t ns) {
  char text[64];
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) {
    std::snprintf(text, sizeof(text), "%lld ns", static_cast<long long>(ns));
  } else if (ns < 1'000'000) {
    std::snprintf(text, sizeof(text), "%.1f us", value / 1e3);
  } else if (ns < 1'000'000'000) {
    std::snprintf(text, sizeof(text), "%.1f ms", value / 1e6);
  } else {
    std::snprintf(text, sizeof(text), "%.2f s", value / 1e9);
  }
  return text;
}

std::string TextOfCount(int64_t count, const std::string& one, const std::string& more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

std::string TextOfShare(int64_t part, int64_t whole) {
  char text[64];
  const double share = whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(text, sizeof(text), "%.1f %%", share);
  return text;
}

}  // namespace kprof
