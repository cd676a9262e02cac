#include "client/cli/views/markdown_summary.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "client/cli/text/amounts_and_times.h"
#include "client/cli/text/terminal_text.h"
#include "client/cli/views/named_cells.h"
#include "client/cli/views/run_text.h"
#include "client/cpp/followers.h"
#include "daemon/launch/given/json_text.h"

namespace kprof::cli {
namespace {

constexpr int64_t kMostKernels = 10;
constexpr size_t kMostCodeBytes = 120;

// In a code span, where nothing but a backtick means anything, and in a table's cell a bar.
std::string Code(std::string_view text) {
  std::string code = ClippedText(TerminalText(text), kMostCodeBytes);
  std::replace(code.begin(), code.end(), '`', '\'');
  for (size_t at = 0; (at = code.find('|', at)) != std::string::npos; at += 2) code.insert(at, 1, '\\');
  return "`" + code + "`";
}

// Words of others between ours: no mark of Markdown or HTML in them is one.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : TerminalText(text)) {
    if (std::string_view("\\`*_{}[]<>|#~&").find(c) != std::string_view::npos) plain += '\\';
    plain += c;
  }
  return plain;
}

std::string Digits(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

// "**FASTER**: 0.507 of the baseline's time (95 %: 0.485 to 0.535); `bimodal`".
std::string VerdictMarkdown(const std::string& verdict, std::optional<double> ratio, std::optional<double> low,
                            std::optional<double> high, const std::vector<std::string>& reasons) {
  std::string line = "**" + Plain(verdict) + "**";
  if (ratio) line += ": " + Digits("%.4g", *ratio) + " of the baseline's time";
  if (low && high) line += " (95 %: " + Digits("%.4g", *low) + " to " + Digits("%.4g", *high) + ")";
  for (const std::string& reason : reasons) line += (&reason == &reasons.front() ? "; " : ", ") + Code(reason);
  return line + "\n";
}

template <typename Reasons>
std::string TrustMarkdown(const Reasons& reasons) {
  if (reasons.empty()) return "";
  std::string text = "\n";
  for (const v1::TrustReason& reason : reasons)
    text += "- " + Code(reason.code()) + ": " + Plain(reason.message()) + "\n";
  return text;
}

// Of the run as a whole.
std::optional<double> MetricOf(const v1::Run& run, const std::string& name) {
  for (const v1::Metric& metric : run.metrics()) {
    if (metric.name() == name && metric.kernel().empty()) return metric.value();
  }
  return std::nullopt;
}

// A row for the side whose metrics begin so; empty where it has no times.
std::string SideRow(const v1::Run& run, const char* side, const std::string& begin) {
  const std::optional<double> median = MetricOf(run, begin + "median_ns");
  if (!median) return "";
  const std::optional<double> noise = MetricOf(run, begin + "noise_percent");
  const std::optional<double> samples = MetricOf(run, begin + "samples");
  return std::string("| ") + side + " | " + FormatComparableNs(*median) + " | " +
         (noise ? Digits("%.1f %%", *noise) : "-") + " | " + (samples ? Digits("%.0f", *samples) : "-") + " |\n";
}

// Texts of a list in JSON.
std::vector<std::string> TextsIn(const std::string& json) {
  std::vector<std::string> texts;
  const Result<GivenJson> list = ReadJson(json, "a fact");
  if (!list.ok()) return texts;
  for (const GivenJson& item : list->items) texts.push_back(item.text);
  return texts;
}

std::string PercentChange(std::optional<double> percent) {
  return percent ? Digits("%+.1f %%", *percent) : "-";
}

// Rows of a table of times before and after; nothing where it has none, or the answer has not this table.
std::string ChangesMarkdown(const ReceivedAnalysis& answer, const std::string& name, const char* title,
                            const std::string& name_column, int64_t most_rows) {
  const Result<size_t> table = answer.FindTable(name);
  if (!table.ok() || answer.rows(*table) == 0) return "";
  std::string rows;
  answer.ForEachRow(*table, most_rows, [&](const std::vector<Cell>& cells) {
    const NamedCells row(answer.header().tables(static_cast<int>(*table)).columns(), cells);
    const std::optional<int64_t> before = row.integer("before_ns");
    const std::optional<int64_t> after = row.integer("after_ns");
    if (!before || !after || (*before == 0 && *after == 0)) return true;
    rows += "| " + Code(row.text(name_column)) + " | " + FormatComparableNs(static_cast<double>(*before)) + " | " +
            FormatComparableNs(static_cast<double>(*after)) + " | " + PercentChange(row.real("delta_percent")) + " |\n";
    return true;
  });
  if (rows.empty()) return "";
  std::string text = std::string("\n| ") + title + " | before | after | change |\n|---|---:|---:|---:|\n" + rows;
  const int64_t more = answer.rows(*table) - most_rows;
  if (more > 0) text += "\nand " + std::to_string(more) + " more\n";
  return text;
}

}  // namespace

std::string MarkdownOf(const v1::Run& run) {
  std::string text;
  if (run.has_verdict()) {
    const v1::RunVerdict& verdict = run.verdict();
    const auto maybe = [](bool is_there, double value) { return is_there ? std::optional(value) : std::nullopt; };
    text += VerdictMarkdown(
        verdict.name(), maybe(verdict.has_ratio(), verdict.ratio()), maybe(verdict.has_ci_low(), verdict.ci_low()),
        maybe(verdict.has_ci_high(), verdict.ci_high()), {verdict.reasons().begin(), verdict.reasons().end()});
  } else {
    text += "**" + Plain(RunStateName(run.state())) + "**";
    if (run.has_error()) text += ": " + Code(run.error().code()) + " " + Plain(ErrorMessage(run));
    text += "\n";
  }
  const std::string rows = SideRow(run, "this", "") + SideRow(run, "baseline", "baseline_");
  if (!rows.empty()) text += "\n| | median | noise | samples |\n|---|---:|---:|---:|\n" + rows;
  text += "\nRun " + Code(run.id());
  if (!run.argv().empty()) text += ", " + Code(CommandOf(run));
  text += ", tool " + Plain(run.tool()) + " on " + Plain(DevicesOf(run));
  if (IsEnded(run.state())) text += ", took " + FormatDuration(DurationNs(run, run.ended_unix_ns()));
  return text + "\n" + TrustMarkdown(run.trust()) + "\n";
}

std::string MarkdownOf(const ReceivedAnalysis& answer) {
  const NamedCells facts(answer.header().facts(), answer.facts());
  std::string text = VerdictMarkdown(facts.text("verdict"), facts.real("ratio"), facts.real("ci_low"),
                                     facts.real("ci_high"), TextsIn(facts.text("reasons")));
  const std::vector<std::string> differences = TextsIn(facts.text("differences"));
  for (const std::string& difference : differences) {
    text += (&difference == &differences.front() ? "\n- " : "- ") + Plain(difference) + "\n";
  }
  text += ChangesMarkdown(answer, "totals", "time", "what", kAllRows);
  text += ChangesMarkdown(answer, "kernels", "kernel", "name", kMostKernels);
  text += "\nRuns";
  for (const std::string& run : answer.header().run_ids()) text += " " + Code(run);
  return text + "\n" + TrustMarkdown(answer.end().trust()) + "\n";
}

}  // namespace kprof::cli
