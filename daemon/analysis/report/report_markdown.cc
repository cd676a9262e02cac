// The report for people and agents: headings and tables whose words are a contract (docs/reports.md), so that scripts
// find what they look for.
#include <algorithm>

#include "daemon/analysis/report/report_files.h"
#include "daemon/analysis/report/report_timeline.h"
#include "daemon/analysis/report/report_words.h"
#include "storage/base/readable_text.h"

namespace kprof {
namespace {

constexpr size_t kMostStageRows = 20;
constexpr size_t kShownOpportunities = 3;
constexpr double kNsPerUs = 1e3;
constexpr double kGbPerTb = 1e3;

// The cells of a row that become "| a | b |".
std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

// b, s, t and dtype are there, whether or not the run has them: scripts look for that row.
std::string ConfigurationTable(const Report& report) {
  constexpr std::string_view kAlways[] = {"b", "s", "t", "dtype"};
  std::vector<std::pair<std::string, std::string>> columns;
  for (const std::string_view name : kAlways) columns.emplace_back(name, kUnknownNumber);
  for (const auto& given : report.configuration) {
    const auto known =
        std::find_if(columns.begin(), columns.end(), [&given](const auto& one) { return one.first == given.first; });
    if (known == columns.end()) {
      columns.push_back(given);
    } else {
      known->second = given.second;
    }
  }
  std::vector<std::string> names;
  std::vector<std::string> values;
  std::string rule = "|";
  for (const auto& [name, value] : columns) {
    names.push_back(CellText(name));
    values.push_back(CellText(value));
    rule += std::string(names.back().size() + 2, '-') + "|";
  }
  const std::string table = MarkdownRow(names) + rule + "\n" + MarkdownRow(values);
  return report.configuration.empty() ? table + "\nNo parameters: a capture has them with --params.\n" : table;
}

// Template arguments of hundreds of characters stay in report.json.
std::string ShownName(const std::string& name) {
  constexpr size_t kShownNameBytes = 80;
  return CellText(ClippedText(name, kShownNameBytes));
}

std::string StagesTable(const Report& report) {
  std::string text =
      "| Stage | Duration (us) | TC% | DRAM% | Occ% | Bottleneck | Key Issue |\n"
      "|-------|---------------|-----|-------|------|------------|-----------|\n";
  for (size_t i = 0; i < report.stages.size() && i < kMostStageRows; ++i) {
    const ReportStage& stage = report.stages[i];
    const std::optional<double> us = stage.duration_ns ? std::optional(*stage.duration_ns / kNsPerUs) : std::nullopt;
    text += MarkdownRow({ShownName(stage.name), NumberText(us, 2), NumberText(stage.tensor_percent, 1),
                         NumberText(stage.dram_percent, 1), NumberText(stage.occupancy_percent, 1),
                         stage.bottleneck.empty() ? std::string(kUnknownNumber) : stage.bottleneck,
                         stage.issue.empty() ? std::string(kUnknownNumber) : CellText(stage.issue)});
  }
  if (report.stages.size() > kMostStageRows) {
    text += "\n" + std::to_string(report.stages.size() - kMostStageRows) + " more stages: report.json has them.\n";
  }
  return text;
}

// Empty where none is recorded.
std::string MeasuredCeiling(const ReportRoof& roof) {
  std::string text;
  if (roof.measured_tflop_per_s) {
    text = NumberText(roof.measured_tflop_per_s, 1) + " TFLOP/s";
    if (!roof.measured_dtype.empty()) text += " " + CellText(roof.measured_dtype);
  }
  if (roof.measured_gb_per_s) {
    text += (text.empty() ? "" : ", ") + NumberText(*roof.measured_gb_per_s / kGbPerTb, 2) + " TB/s";
  }
  return text.empty() ? "" : "\nMeasured ceiling: " + text + " (" + CellText(roof.measured_text) + ").\n";
}

std::string Opportunities(const Report& report) {
  std::string text;
  for (size_t i = 0; i < report.opportunities.size() && i < kShownOpportunities; ++i) {
    const ReportOpportunity& one = report.opportunities[i];
    text += std::to_string(i + 1) + ". " + CellText(one.name) + " — est. " + NumberText(one.gain_percent, 1) +
            "% gain — trigger: " + CellText(one.trigger) + "\n";
    const std::string of = one.kernel.empty() || report.stages.size() == 1 ? "" : ShownName(one.kernel) + ": ";
    const std::string advice = AdviceOf(one);
    if (!advice.empty()) text += "   " + of + CellText(advice) + "\n";
  }
  if (IsLeftOut(report, "findings")) return "Not known: the trace is too long for it, see the notes.\n";
  if (!text.empty()) return text;
  return "None: no rule fired on what was measured" +
         (report.unasked.empty() ? std::string() : "; " + UnaskedText(report) + ", see report.json") + ".\n";
}

std::string SignedPercent(std::optional<double> percent) {
  return percent ? (*percent >= 0 ? "+" : "") + NumberText(percent, 1) + " %" : std::string(kUnknownNumber);
}

std::string BaselineTable(const Report& report) {
  if (report.baseline_id.empty()) return "None was given: --baseline RUN.\n";
  std::string text =
      "| Metric | Previous | Current | Change |\n"
      "|--------|----------|---------|--------|\n";
  for (const ReportChange& change : report.changes) {
    const std::string unit = change.unit.empty() ? "" : " (" + change.unit + ")";
    text += MarkdownRow({CellText(change.metric + unit), NumberText(change.previous, 2), NumberText(change.current, 2),
                         SignedPercent(ChangePercent(change))});
  }
  return text + "\nPrevious: run " + report.baseline_id + ".\n";
}

}  // namespace

std::string WriteReportMarkdown(const Report& report) {
  std::string text =
      "## Profile: " + ShownName(report.kernel) + (report.version.empty() ? "" : " " + CellText(report.version)) + "\n";
  text += "\n### Configuration\n" + ConfigurationTable(report);
  text += "\n### Stages\n" + StagesTable(report) + MeasuredCeiling(report.roof);
  if (!report.timeline.empty()) text += "\n" + TimelineMarkdown(report);
  text += "\n### Bottleneck: " + BottleneckText(report) + "\nRoot cause: " + CellText(report.root_cause) + "\n";
  text += "\n### Top 3 Opportunities (ranked by estimated impact)\n" + Opportunities(report);
  text += "\n### vs Baseline (if applicable)\n" + BaselineTable(report);
  text += "\nRun " + report.run_id + ", tool " + report.tool +
          (report.device.empty() ? "" : ", " + CellText(report.device)) +
          (report.clocks.empty() ? "" : ", " + report.clocks) + ".\n";
  if (!report.policy.empty()) text += "Judged by " + CellText(report.policy) + ".\n";
  for (const TrustReason& reason : report.trust) {
    text += "Trust: " + CellText(reason.code) + ": " + CellText(reason.message) + "\n";
  }
  for (const std::string& note : report.notes) text += "Note: " + CellText(note) + "\n";
  return text;
}

}  // namespace kprof
