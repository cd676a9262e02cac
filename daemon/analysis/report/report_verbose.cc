// report-verbose.md: what the profiler's own page of details shows, kernel by kernel with all of its launches added up,
// and what it leaves to other pages: metrics of no section, stall reasons, launches beside each other, the device.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/analysis/functions/kernel_reports/kernel_code.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/functions/kernel_reports/kernel_sections.h"
#include "daemon/analysis/functions/kernel_reports/measured_metrics.h"
#include "daemon/analysis/functions/kernel_reports/report_quantities.h"
#include "daemon/analysis/report/kernel_files.h"
#include "daemon/analysis/report/markdown_table.h"
#include "daemon/analysis/report/measured_text.h"
#include "daemon/analysis/report/report_appendix.h"
#include "daemon/analysis/report/report_details.h"
#include "daemon/analysis/report/report_words.h"
#include "daemon/analysis/report/stall_words.h"

namespace kprof {
namespace {

constexpr size_t kMostVerboseBytes = 8 << 20;  // kernels beyond are named
constexpr size_t kMostListedKernels = 200;
constexpr size_t kMostListedLaunches = 20;
constexpr size_t kMostShapes = 4;
constexpr std::string_view kAttributePrefix = "device__attribute_";
constexpr std::string_view kStallRatioPrefix = "smsp__average_warps_issue_stalled_";
constexpr std::string_view kStallRatioEnding = "_per_issue_active.ratio";

struct CodeOfKernel {
  std::map<std::string, double> stalls;  // samples by reason
  bool has_lines = false;                // instructions with numbers
};

std::string PlainLine(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return line;
}

std::string CountText(size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string PercentText(double percent) {
  return NumberText(percent, 1) + " %";
}

// "1024 x 1 x 1"; empty where it is not known.
std::string ShapeText(const std::array<std::optional<int64_t>, 3>& sizes) {
  std::string text;
  for (const std::optional<int64_t>& size : sizes) {
    if (!size) return "";
    text += (text.empty() ? "" : " x ") + std::to_string(*size);
  }
  return text;
}

class VerboseReport {
 public:
  VerboseReport(const ReportedRun& of, const Report& report, const KernelReports& reports, const StopSignal& stop)
      : of_(of), report_(report), reports_(reports), stop_(stop), names_(KernelFileNames(reports)) {
    for (size_t i = 0; i < kQuantities; ++i) {
      const QuantityWords& words = WordsOf(static_cast<Quantity>(i));
      for (const std::string_view name : words.names) quantities_.emplace(name, &words);
    }
  }

  Result<std::string> Write() {
    const std::set<size_t> kernels = DetailedKernels(reports_);
    ASSIGN_OR_RETURN(const MeasuredMetrics metrics, MeasuredMetrics::Read(of_.traces, reports_, kernels, stop_));
    ASSIGN_OR_RETURN(const KernelSections sections, KernelSections::Read(of_.traces, reports_, kernels, stop_));
    RETURN_IF_ERROR(ReadCode(kernels));
    metrics_ = &metrics;
    sections_ = &sections;
    std::string details;
    size_t told = 0;
    for (const size_t kernel : kernels) {
      RETURN_IF_ERROR(StillWanted(stop_));
      if (details.size() > kMostVerboseBytes) break;
      details += KernelText(kernel);
      ++told;
    }
    ASSIGN_OR_RETURN(const std::string appendix, ReportAppendix(of_, metrics.Of(0), stop_));
    return HeadText(told) + details + appendix;
  }

 private:
  Status ReadCode(const std::set<size_t>& kernels) {
    for (size_t part = 0; part < of_.traces.parts().size(); ++part) {
      RETURN_IF_ERROR(
          KernelCode::ForEach(of_.traces, reports_, part, {.kernels = &kernels}, stop_, [this](const KernelCode& code) {
            CodeOfKernel& of = code_[code.kernel()];
            of.has_lines |= code.has_numbers();
            const CodeTotals totals = code.TotalsOf(code.with_numbers());
            for (const auto& [reason, samples] : totals.stalls) of.stalls[std::string(reason)] += samples;
            return OkStatus();
          }));
    }
    return OkStatus();
  }

  double TotalNs(size_t kernel) const {
    const auto spread = reports_.SpreadOf(reports_.kernels()[kernel], Quantity::kDuration);
    return spread ? spread->sum : 0;
  }

  std::string HeadText(size_t told) const {
    std::string text = "# Kernel report: " + PlainLine(report_.kernel) +
                       (report_.version.empty() ? "" : " " + PlainLine(report_.version)) + "\n\n";
    text += "Run " + report_.run_id + ", tool " + report_.tool +
            (report_.device.empty() ? "" : ", " + PlainLine(report_.device)) +
            (report_.clocks.empty() ? "" : ", " + report_.clocks) + ": " +
            CountText(reports_.launches().size(), "launch", "launches") + " of " +
            CountText(reports_.kernels().size(), "kernel", "kernels") +
            ". Values are means over the launches of a kernel, percentages and rates by their time.\n\n";
    double whole = 0;
    for (size_t i = 0; i < reports_.kernels().size(); ++i) whole += TotalNs(i);
    MarkdownTable table({"#>", "Kernel", "Launches>", "Time>", "Share>", "Of a launch>", "Details"});
    for (size_t i = 0; i < std::min(reports_.kernels().size(), kMostListedKernels); ++i) {
      const ReportKernel& kernel = reports_.kernels()[i];
      const auto spread = reports_.SpreadOf(kernel, Quantity::kDuration);
      table.AddRow({std::to_string(i + 1), KernelTitle(kernel), std::to_string(kernel.launches.size()),
                    spread ? MeasuredText(spread->sum, "ns") : "",
                    spread && whole > 0 ? PercentText(spread->sum / whole * 100) : "",
                    spread ? MeasuredText(spread->mean, "ns") : "", i < told ? "" : "kernels.csv"});
    }
    text += table.Text();
    if (reports_.kernels().size() > kMostListedKernels) {
      text += "\n" + std::to_string(reports_.kernels().size() - kMostListedKernels) + " more: kernels.csv has them.\n";
    }
    return text + RoofText();
  }

  // Each stage under the device's roof.
  std::string RoofText() const {
    MarkdownTable table({"Stage", "Of a launch>", "FLOP/byte>", "TFLOP/s>", "Attainable>", "Of attainable>", "GB/s>"});
    for (const ReportStage& stage : report_.stages) {
      if (!stage.tflop_per_s && !stage.gb_per_s) continue;
      const auto amount = [](const std::optional<double>& value) { return value ? AmountText(*value) : std::string(); };
      table.AddRow({stage.name, stage.duration_ns ? MeasuredText(*stage.duration_ns, "ns") : "",
                    amount(stage.flop_per_byte), amount(stage.tflop_per_s), amount(stage.attainable_tflop_per_s),
                    stage.attainable_percent ? PercentText(*stage.attainable_percent) : "", amount(stage.gb_per_s)});
    }
    if (table.empty()) return "";
    std::string text = "\n## Roofline\n\n" + table.Text();
    std::string peaks;
    if (report_.roof.tflop_per_s) peaks = AmountText(*report_.roof.tflop_per_s) + " TFLOP/s";
    if (report_.roof.gb_per_s) peaks += (peaks.empty() ? "" : ", ") + AmountText(*report_.roof.gb_per_s) + " GB/s";
    if (peaks.empty()) return text;
    return text + "\nPeak: " + peaks + (report_.roof.text.empty() ? "" : " (" + PlainLine(report_.roof.text) + ")") +
           ".\n";
  }

  std::string KernelText(size_t place) const {
    const ReportKernel& kernel = reports_.kernels()[place];
    std::string text = "\n## " + std::to_string(place + 1) + ". " + PlainLine(KernelTitle(kernel)) + "\n\n";
    text += "`" + PlainLine(kernel.name) + "`\n";
    const auto code = code_.find(place);
    if (code != code_.end() && code->second.has_lines) {
      text += "\nIts code, line by line and instruction by instruction: source-" + names_[place] + ".md, sass-" +
              names_[place] + ".csv.\n";
    }
    text += LaunchText(place);
    std::set<std::string_view> shown;
    if (sections_->Of(place).empty()) {
      text += GroupsText(place, shown);
    } else {
      for (const KernelSection& section : sections_->Of(place)) text += SectionText(place, section, shown);
    }
    text += StallText(place, shown);
    text += LaunchesText(kernel);
    return text + OthersText(place, shown);
  }

  // How it was launched.
  std::string LaunchText(size_t place) const {
    const ReportKernel& kernel = reports_.kernels()[place];
    MarkdownTable table({"Launch", "Value"});
    const auto add_shapes = [&](const char* what, auto member) {
      std::map<std::string, int64_t> shapes;
      for (const size_t launch : kernel.launches) ++shapes[ShapeText(reports_.launches()[launch].*member)];
      shapes.erase("");
      std::string list;
      size_t count = 0;
      for (const auto& [shape, launches] : shapes) {
        if (++count > kMostShapes) break;
        list += (list.empty() ? "" : "; ") + shape;
        if (shapes.size() > 1) list += " in " + std::to_string(launches) + (launches == 1 ? " launch" : " launches");
      }
      if (shapes.size() > kMostShapes) list += "; " + std::to_string(shapes.size() - kMostShapes) + " more";
      if (!list.empty()) table.AddRow({what, list});
    };
    add_shapes("Grid", &ReportLaunch::grid);
    add_shapes("Block", &ReportLaunch::block);
    const auto add = [&](const char* what, Quantity quantity, std::string_view unit) {
      const auto spread = reports_.SpreadOf(kernel, quantity);
      if (!spread) return;
      std::string value = MeasuredText(spread->min, unit);
      if (spread->max != spread->min) value += " to " + MeasuredText(spread->max, unit);
      table.AddRow({what, value});
    };
    add("Registers per thread", Quantity::kRegisters, "");
    add("Shared memory per block", Quantity::kSharedPerBlock, "byte");
    add("Waves per SM", Quantity::kWaves, "");
    add("Theoretical occupancy", Quantity::kTheoreticalOccupancy, "%");
    add("Achieved occupancy", Quantity::kAchievedOccupancy, "%");
    if (const std::string limit = LimitText(kernel); !limit.empty()) table.AddRow({"Blocks per SM", limit});
    if (!kernel.device_name.empty()) {
      table.AddRow({"Device", kernel.device_name + (kernel.compute_capability.empty()
                                                        ? ""
                                                        : ", compute capability " + kernel.compute_capability)});
    }
    std::set<std::string> ranges;
    for (const size_t launch : kernel.launches) ranges.insert(reports_.ranges()[reports_.launches()[launch].range]);
    ranges.erase("");
    std::string list;
    for (const std::string& range : ranges) {
      if (list.size() > 200) {
        list += ", ...";
        break;
      }
      list += (list.empty() ? "" : ", ") + range;
    }
    if (!list.empty()) table.AddRow({"NVTX ranges", list});
    return table.empty() ? "" : "\n" + table.Text();
  }

  // "4, limited by warps"
  std::string LimitText(const ReportKernel& kernel) const {
    constexpr std::pair<Quantity, const char*> kLimits[] = {{Quantity::kLimitBlocks, "slots"},
                                                            {Quantity::kLimitRegisters, "registers"},
                                                            {Quantity::kLimitShared, "shared memory"},
                                                            {Quantity::kLimitWarps, "warps"},
                                                            {Quantity::kLimitBarriers, "barriers"}};
    double least = INFINITY;
    std::string by;
    for (const auto& [quantity, what] : kLimits) {
      const auto spread = reports_.SpreadOf(kernel, quantity);
      if (!spread || spread->mean > least) continue;
      by = spread->mean < least ? what : by + " and " + what;
      least = spread->mean;
    }
    return by.empty() ? "" : AmountText(least) + ", limited by " + by;
  }

  const QuantityWords* QuantityOf(std::string_view metric) const {
    const auto found = quantities_.find(metric);
    return found == quantities_.end() ? nullptr : found->second;
  }

  // "> 60", with a mark where it is not.
  std::string HealthText(const MeasuredMetric& metric) const {
    const QuantityWords* const words = QuantityOf(metric.name);
    if (words == nullptr || *words->healthy == '\0' || !metric.is_number()) return "";
    if (IsHealthy(*words, metric.mean)) return words->healthy;
    return std::string(words->healthy) + ": no (" + words->issue + ")";
  }

  void AddMetricRow(const std::string& label, const MeasuredMetric& metric, MarkdownTable& table) const {
    if (!metric.is_number()) {
      std::string texts;
      for (const std::string& text : metric.texts) texts += (texts.empty() ? "" : ", ") + text;
      return table.AddRow({label, "", texts});
    }
    const QuantityWords* const words = QuantityOf(metric.name);
    const ShownUnit shown =
        ShownUnitOf(metric.mean, metric.unit.empty() && words != nullptr ? std::string_view(words->unit) : metric.unit);
    const auto text = [&shown](double value) { return AmountText(value / shown.divisor); };
    const std::string least = text(metric.min);
    const std::string most = text(metric.max);
    const bool differs = least != most;
    table.AddRow({label, shown.unit, text(metric.mean), differs ? least : "", differs ? most : "", HealthText(metric)});
  }

  static MarkdownTable MetricTable() { return MarkdownTable({"Metric", "Unit", "Value>", "Min>", "Max>", "Healthy"}); }

  std::string SectionText(size_t place, const KernelSection& section, std::set<std::string_view>& shown) const {
    MarkdownTable table = MetricTable();
    for (const auto& [name, label] : section.metrics) {
      const MeasuredMetric* const metric = metrics_->Find(place, name);
      if (metric == nullptr || (!metric->is_number() && metric->texts.empty())) continue;
      shown.insert(metric->name);
      AddMetricRow(label.empty() ? name : label, *metric, table);
    }
    const std::string rules = RulesText(place, section);
    if (table.empty() && rules.empty()) return "";
    return "\n### " + PlainLine(section.title) + "\n\n" + table.Text() + (table.empty() || rules.empty() ? "" : "\n") +
           rules;
  }

  std::string RulesText(size_t place, const KernelSection& section) const {
    const auto launches = static_cast<int64_t>(reports_.kernels()[place].launches.size());
    std::string text;
    for (const FiredRule& rule : section.rules) {
      text += "- **" + PlainLine(rule.type) + "** " + PlainLine(rule.title.empty() ? rule.rule : rule.title);
      const std::optional<double> speedup =
          rule.speedup_percent || rule.most_speedup_percent < 0 ? rule.speedup_percent : rule.most_speedup_percent;
      if (speedup) {
        text += std::string(", est. ") + (rule.speedup_type == "local" ? "local " : "") + "speedup " +
                PercentText(*speedup);
      }
      if (rule.launches < launches) {
        text += ", in " + std::to_string(rule.launches) + " of " + std::to_string(launches) + " launches";
      }
      text += ": " + PlainLine(rule.message) + "\n";
    }
    return text;
  }

  // Sections of ours, for reports that have none.
  std::string GroupsText(size_t place, std::set<std::string_view>& shown) const {
    std::vector<std::pair<std::string_view, MarkdownTable>> groups;
    for (size_t i = 0; i < kQuantities; ++i) {
      const QuantityWords& words = WordsOf(static_cast<Quantity>(i));
      for (const std::string_view name : words.names) {
        const MeasuredMetric* const metric = metrics_->Find(place, name);
        if (metric == nullptr || !metric->is_number()) continue;
        if (groups.empty() || groups.back().first != words.section) groups.emplace_back(words.section, MetricTable());
        AddMetricRow(words.label, *metric, groups.back().second);
        shown.insert(metric->name);
        break;
      }
    }
    std::string text;
    for (const auto& [section, table] : groups) text += "\n### " + std::string(section) + "\n\n" + table.Text();
    return text;
  }

  // Samples of warps by what they waited for; without samples the cycles of each instruction.
  std::string StallText(size_t place, std::set<std::string_view>& shown) const {
    const auto code = code_.find(place);
    std::vector<std::pair<std::string, double>> stalls;
    if (code != code_.end()) stalls.assign(code->second.stalls.begin(), code->second.stalls.end());
    const bool has_samples = !stalls.empty();
    if (!has_samples) {
      for (const MeasuredMetric& metric : metrics_->Of(place)) {
        const std::string_view name = metric.name;
        if (!name.starts_with(kStallRatioPrefix) || !name.ends_with(kStallRatioEnding) || !metric.is_number()) continue;
        if (name.size() <= kStallRatioPrefix.size() + kStallRatioEnding.size()) continue;
        shown.insert(metric.name);
        if (metric.mean <= 0) continue;
        stalls.emplace_back(
            name.substr(kStallRatioPrefix.size(), name.size() - kStallRatioPrefix.size() - kStallRatioEnding.size()),
            metric.mean);
      }
    }
    std::stable_sort(stalls.begin(), stalls.end(), [](const auto& a, const auto& b) { return b.second < a.second; });
    double whole = 0;
    for (const auto& [reason, amount] : stalls) whole += amount;
    MarkdownTable table({"Reason", has_samples ? "Samples>" : "Cycles per instruction>", "Share>", "A warp waits for"});
    for (const auto& [reason, amount] : stalls) {
      table.AddRow({reason, AmountText(amount), PercentText(amount / whole * 100), std::string(StallMeaning(reason))});
    }
    return table.empty() ? "" : "\n### Stall reasons\n\n" + table.Text();
  }

  // Launches beside each other.
  std::string LaunchesText(const ReportKernel& kernel) const {
    if (kernel.launches.size() < 2) return "";
    constexpr std::pair<const char*, Quantity> kColumns[] = {{"Compute>", Quantity::kComputeSol},
                                                             {"Memory>", Quantity::kMemorySol},
                                                             {"DRAM>", Quantity::kDramThroughput},
                                                             {"Tensor>", Quantity::kTensorPipe},
                                                             {"Occupancy>", Quantity::kAchievedOccupancy}};
    MarkdownTable table({"Launch>", "Duration>"});
    for (const auto& [name, quantity] : kColumns) table.AddColumn(name);
    for (const char* column : {"SM clock>", "Grid", "Range"}) table.AddColumn(column);
    for (size_t i = 0; i < std::min(kernel.launches.size(), kMostListedLaunches); ++i) {
      const size_t launch = kernel.launches[i];
      const ReportLaunch& of = reports_.launches()[launch];
      const std::optional<double> ns = reports_.DurationNs(launch);
      std::vector<std::string> row = {std::to_string(of.number), ns ? MeasuredText(*ns, "ns") : ""};
      for (const auto& [name, quantity] : kColumns) {
        const auto value = reports_.Find(launch, quantity);
        row.push_back(value ? PercentText(value->value) : "");
      }
      const auto clock = reports_.Find(launch, Quantity::kSmClock);
      row.push_back(clock ? MeasuredText(clock->value, "hz") : "");
      row.push_back(ShapeText(of.grid));
      row.push_back(reports_.ranges()[of.range]);
      table.AddRow(std::move(row));
    }
    std::string text = "\n### Launches\n\n";
    if (const auto spread = reports_.SpreadOf(kernel, Quantity::kDuration)) {
      text += "Duration: least " + MeasuredText(spread->min, "ns") + ", median " + MeasuredText(spread->p50, "ns") +
              ", most " + MeasuredText(spread->max, "ns");
      if (spread->min > 0) text += ", " + NumberText(spread->max / spread->min, 2) + " times the least";
      text += ".\n\n";
    }
    text += table.Text();
    if (kernel.launches.size() > kMostListedLaunches) {
      text += "\n" + std::to_string(kernel.launches.size() - kMostListedLaunches) + " more: kprofctl analyze kernels " +
              report_.run_id + " --per-launch has them.\n";
    }
    return text;
  }

  // Metrics that no section has.
  std::string OthersText(size_t place, const std::set<std::string_view>& shown) const {
    MarkdownTable table = MetricTable();
    std::string zeros;
    for (const MeasuredMetric& metric : metrics_->Of(place)) {
      if (shown.contains(metric.name) || metric.name.starts_with(kAttributePrefix)) continue;
      if (!metric.is_number() && metric.texts.empty()) continue;
      if (metric.is_zero()) {
        zeros += (zeros.empty() ? "" : ", ") + PlainLine(metric.name);
      } else {
        AddMetricRow(metric.name, metric, table);
      }
    }
    std::string text;
    if (!table.empty()) text += "\n### Other metrics\n\n" + table.Text();
    if (!zeros.empty()) text += std::string(table.empty() ? "\n### Other metrics\n" : "") + "\nZero: " + zeros + ".\n";
    if (metrics_->is_cut(place)) {
      text += "\nMore than " + std::to_string(MeasuredMetrics::kMostMetrics) + " metrics: the rest is left out.\n";
    }
    return text;
  }

  const ReportedRun& of_;
  const Report& report_;
  const KernelReports& reports_;
  const StopSignal& stop_;
  const std::vector<std::string> names_;
  std::map<std::string_view, const QuantityWords*> quantities_;  // by metrics
  std::map<size_t, CodeOfKernel> code_;                          // by kernels
  const MeasuredMetrics* metrics_ = nullptr;
  const KernelSections* sections_ = nullptr;
};

}  // namespace

Status MakeVerboseReport(const ReportedRun& of, const Report& report, const StopSignal& stop, ReportDetailList& files) {
  if (std::none_of(of.traces.parts().begin(), of.traces.parts().end(), &KernelReports::HasReport)) return OkStatus();
  ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(of.traces, {}, stop));
  if (reports.launches().empty()) return OkStatus();
  ASSIGN_OR_RETURN(std::string text, VerboseReport(of, report, reports, stop).Write());
  return files.Add("report-verbose.md", "text/markdown", std::move(text));
}

}  // namespace kprof
