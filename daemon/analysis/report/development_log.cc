// The block that a kernel's development log gets for each version; its words are a contract (docs/reports.md).
#include <algorithm>
#include <cmath>
#include <set>

#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr double kNsPerMicro = 1e3;
constexpr size_t kMostIssues = 5;

std::optional<double> Micro(std::optional<double> ns) {
  return ns ? std::optional(*ns / kNsPerMicro) : std::nullopt;
}

const ReportChange* FindChange(const Report& report, std::string_view metric) {
  for (const ReportChange& change : report.changes) {
    if (change.metric == metric) return &change;
  }
  return nullptr;
}

// "12.3% faster", "+4.0%", "--".
std::string VersusPrevious(const Report& report, std::string_view metric, bool is_time) {
  const ReportChange* change = FindChange(report, metric);
  const std::optional<double> percent = change == nullptr ? std::nullopt : ChangePercent(*change);
  if (!percent) return std::string(kUnknownNumber);
  if (!is_time) return (*percent >= 0 ? "+" : "") + NumberText(percent, 1) + "%";
  return NumberText(std::abs(*percent), 1) + (*percent <= 0 ? "% faster" : "% slower");
}

struct LogRow {
  std::string metric;
  std::string value;
  std::string versus;
};

std::string Padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

}  // namespace

std::string WriteDevelopmentLog(const Report& report) {
  std::string conditions = report.device.empty() ? "device not known" : report.device;
  if (!report.clocks.empty()) conditions += ", " + report.clocks;
  for (const auto& [name, value] : report.configuration) {
    if (name == "dtype") conditions += ", " + value;
  }
  for (const auto& [name, value] : report.configuration) {
    if (name != "dtype") conditions += ", " + name + "=" + value;
  }
  const ReportStage first = report.stages.empty() ? ReportStage() : report.stages.front();
  // A version may have several kernels: its time is that of a launch of each.
  const bool has_round = report.round_ns.has_value();
  const std::optional<double> us = Micro(has_round             ? report.round_ns
                                         : report.execution_ns ? report.execution_ns
                                                               : first.duration_ns);
  const auto percent = [](std::optional<double> value) {
    return value ? NumberText(value, 0) + "%" : std::string(kUnknownNumber);
  };
  const LogRow rows[] = {
      {"Duration", us ? NumberText(us, 2) + " μs" : std::string(kUnknownNumber),
       VersusPrevious(report, has_round ? "All stages" : "Duration", true)},
      {"Achieved TFLOPs/s", NumberText(first.tflop_per_s, 2), VersusPrevious(report, "Achieved TFLOPs/s", false)},
      {"Achieved GB/s", NumberText(first.gb_per_s, 2), VersusPrevious(report, "Achieved GB/s", false)},
      {"Occupancy", percent(first.occupancy_percent), VersusPrevious(report, "Occupancy", false)},
      {"TC Util", percent(first.tensor_percent), VersusPrevious(report, "TC Util", false)},
  };
  std::string text = "**Performance** (" + conditions + "):\n\n";
  text += "| Metric            | Value   | vs Previous |\n| ----------------- | ------- | ----------- |\n";
  for (const LogRow& row : rows) {
    text += "| " + Padded(row.metric, 17) + " | " + Padded(row.value, 7) + " | " + Padded(row.versus, 11) + " |\n";
  }
  text += "\n**Bottleneck**: " + BottleneckText(report) + "\n\n**Issues**:\n";
  const size_t shown = std::min(report.opportunities.size(), kMostIssues);
  for (size_t i = 0; i < shown; ++i) {
    const ReportOpportunity& one = report.opportunities[i];
    text += "- " + one.name + (one.kernel.empty() ? "" : " (" + one.kernel + ")") + ": " + FirstSentence(one.message) +
            "\n";
  }
  if (shown == 0) text += "- none that a rule knows\n";
  text += "\n**Insights**:\n- " + report.root_cause + "\n";
  std::set<std::string> hints;
  for (size_t i = 0; i < shown; ++i) {
    const std::string& hint = report.opportunities[i].hint;
    const bool is_new = !hint.empty() && hint == AdviceOf(report.opportunities[i]) && hints.insert(hint).second;
    if (is_new) text += "- " + hint + "\n";
  }
  std::set<std::string> doubts;
  for (const TrustReason& reason : report.trust) doubts.insert(reason.message);
  for (const std::string& note : report.notes) {
    if (note.starts_with("stage ") || note.starts_with("the baseline ")) doubts.insert(note);
  }
  for (const std::string& doubt : doubts) text += "- Doubt: " + doubt + "\n";
  return text;
}

}  // namespace kprof
