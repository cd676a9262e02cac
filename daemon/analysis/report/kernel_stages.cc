#include "daemon/analysis/report/kernel_stages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"
#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report_timeline.h"
#include "daemon/analysis/report/report_words.h"
#include "daemon/launch/given/json_text.h"
#include "storage/trace/format/report_tables.h"

namespace kprof {
namespace {

constexpr size_t kMostStages = 64;
// More names of ranges than that are of operators or iterations, and not of stages.
constexpr size_t kMostRangeStages = 32;

std::optional<double> MeanOf(const KernelReports& reports, const ReportKernel& kernel, Quantity quantity) {
  const std::optional<ReportSpread> spread = reports.SpreadOf(kernel, quantity);
  return spread ? std::optional(spread->mean) : std::nullopt;
}

std::optional<double> NumberOf(std::optional<int64_t> number) {
  return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

// The innermost NVTX ranges around launches as stages whose work nobody told; empty: there are none, or too many.
std::string StagesOfRanges(const KernelReports& reports) {
  std::vector<std::string> names;
  for (const ReportLaunch& launch : reports.launches()) {
    const std::string& path = reports.ranges()[launch.range];
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    if (names.size() > kMostRangeStages) return "";
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "{" : ",") + JsonQuoted(name) + ":{}";
  return text.empty() ? text : text + "}";
}

class KernelStages {
 public:
  KernelStages(const ReportedRun& of, const StopSignal& stop, Report& report) : of_(of), stop_(stop), report_(report) {}

  Result<std::vector<StageKernel>> Add() {
    ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(of_.traces, {}, stop_));
    // ncu is asked about kernels, and has the ranges that its command happens to have.
    const bool has_ranges = of_.stages.empty() && of_.run.tool != "ncu";
    const std::string stages = has_ranges ? StagesOfRanges(reports) : of_.stages;
    std::map<std::string, std::string> given;
    if (!stages.empty()) given.emplace("stages", stages);
    if (!of_.policy.empty()) given.emplace("policy", of_.policy);
    ASSIGN_OR_RETURN(const KindAnswer roofline, AskKind("roofline", of_.traces, given, stop_));
    NamePolicy(roofline);
    AddNamed(roofline.table("stages"));
    AddKernels(reports, roofline.table("kernels"));
    JudgeNamedByKernels();
    AddNotesOf(roofline.answer, report_);
    RETURN_IF_ERROR(NoteHottestLine());
    return std::move(kernels_);
  }

 private:
  // "sol-95-60 version 1 {"threshold":95,...}"
  void NamePolicy(const KindAnswer& roofline) {
    const auto fact = [&roofline](std::string_view name) {
      for (size_t i = 0; i < roofline.kind->facts.size(); ++i) {
        if (roofline.kind->facts[i].name != name) continue;
        const AnalysisValue& value = roofline.answer.facts()[i];
        if (const auto* text = std::get_if<std::string>(&value)) return *text;
        if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
      }
      return std::string();
    };
    report_.policy = fact("policy") + " version " + fact("policy_version") + " " + fact("policy_parameters");
  }

  // Before the kernels that they are made of; the longest first.
  void AddNamed(const AnswerTable& rows) {
    const auto total_of = [&rows](size_t row) -> std::optional<double> {
      const std::optional<double> ns = rows.Number(row, "duration_ns");
      const std::optional<double> times = rows.Number(row, "times");
      return ns && times ? std::optional(*ns * *times) : std::nullopt;
    };
    std::vector<size_t> order(rows.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&total_of](size_t a, size_t b) { return total_of(a).value_or(0) > total_of(b).value_or(0); });
    for (const size_t row : order) {
      if (report_.stages.size() == kMostStages) break;
      ReportStage& stage = report_.stages.emplace_back();
      stage.name = rows.Text(row, "stage");
      stage.is_named = true;
      kernels_.push_back({rows.Text(row, "longest_kernel"), rows.Number(row, "rank"), std::nullopt, true});
      stage.launches = static_cast<int64_t>(rows.Number(row, "launches").value_or(0));
      stage.duration_ns = rows.Number(row, "duration_ns");
      stage.total_ns = total_of(row);
      stage.tensor_percent = rows.Number(row, "tensor_percent");
      stage.dram_percent = rows.Number(row, "dram_percent");
      stage.occupancy_percent = rows.Number(row, "occupancy_percent");
      stage.compute_sol_percent = rows.Number(row, "compute_sol_percent");
      stage.memory_sol_percent = rows.Number(row, "memory_sol_percent");
      stage.bottleneck = rows.Text(row, "bottleneck");
      stage.memory_level = rows.Text(row, "memory_level");
      // Where no throughput was measured, its work tells on which side of the ridge it is.
      const bool is_judged = !stage.bottleneck.empty() && stage.bottleneck != "unknown";
      if (!is_judged) stage.bottleneck = rows.Text(row, "bound");
      TakePlace(rows, row, stage);
      NoteWarnings(stage.name, rows.Text(row, "warnings"));
    }
  }

  void NoteWarnings(const std::string& stage, const std::string& warnings) {
    const Result<GivenJson> list = ReadJson(warnings, "warnings");
    if (!list.ok()) return;
    for (const GivenJson& one : list->items) report_.notes.push_back("stage " + stage + ": " + one.text);
  }

  void AddKernels(const KernelReports& reports, const AnswerTable& rows) {
    std::map<std::string, std::pair<double, double>> rounds;  // by name: the mean of each rank, and how many ranks
    for (const ReportKernel& kernel : reports.kernels()) {
      const std::optional<ReportSpread> time = reports.SpreadOf(kernel, Quantity::kDuration);
      if (time) {
        report_.measured_ns = report_.measured_ns.value_or(0) + time->sum;
        auto& [ns, ranks] = rounds[kernel.name];
        ns += time->mean;
        ++ranks;
      }
      if (report_.device.empty()) report_.device = kernel.device_name;
      if (report_.stages.size() == kMostStages) continue;
      ReportStage& stage = report_.stages.emplace_back();
      stage.name = ShortKernelName(kernel.name);
      const std::optional<int64_t> device = reports.launches()[kernel.launches.front()].device;
      kernels_.push_back({kernel.name, NumberOf(kernel.rank), NumberOf(device)});
      stage.launches = static_cast<int64_t>(kernel.launches.size());
      if (time) {
        stage.duration_ns = time->mean;
        stage.total_ns = time->sum;
      }
      stage.tensor_percent = MeanOf(reports, kernel, Quantity::kTensorPipe);
      stage.dram_percent = MeanOf(reports, kernel, Quantity::kDramThroughput);
      stage.occupancy_percent = MeanOf(reports, kernel, Quantity::kAchievedOccupancy);
      stage.compute_sol_percent = MeanOf(reports, kernel, Quantity::kComputeSol);
      stage.memory_sol_percent = MeanOf(reports, kernel, Quantity::kMemorySol);
      for (size_t row = 0; row < rows.size(); ++row) {
        const bool is_its =
            kernels_.back().Is(rows.Text(row, "name"), rows.Number(row, "rank"), rows.Number(row, "device"));
        if (!is_its) continue;
        stage.bottleneck = rows.Text(row, "bottleneck");
        stage.memory_level = rows.Text(row, "memory_level");
        TakePlace(rows, row, stage);
        break;
      }
    }
    for (const auto& [name, of] : rounds) report_.round_ns = report_.round_ns.value_or(0) + of.first / of.second;
    TellApart(reports);
  }

  // Kernels of one name, on several devices or of several ranks, say which.
  void TellApart(const KernelReports& reports) {
    std::map<std::string, int> times;
    for (const ReportStage& stage : report_.stages) times[stage.name] += stage.is_named ? 0 : 1;
    size_t kernel = 0;
    for (ReportStage& stage : report_.stages) {
      if (stage.is_named) continue;
      const ReportKernel& of = reports.kernels()[kernel++];
      if (times[stage.name] < 2) continue;
      if (of.rank) stage.name += ", rank " + std::to_string(*of.rank);
      if (!of.device_name.empty()) stage.name += ", " + of.device_name;
    }
  }

  // A stage whose work is not told lies nowhere under the roof: it has the verdict on its longest kernel.
  void JudgeNamedByKernels() {
    for (size_t i = 0; i < report_.stages.size(); ++i) {
      ReportStage& stage = report_.stages[i];
      if (!stage.is_named || !stage.bottleneck.empty()) continue;
      for (size_t k = i + 1; k < report_.stages.size() && stage.bottleneck.empty(); ++k) {
        const bool is_its =
            !report_.stages[k].is_named && kernels_[k].name == kernels_[i].name && kernels_[k].rank == kernels_[i].rank;
        if (!is_its) continue;
        stage.bottleneck = report_.stages[k].bottleneck;
        stage.memory_level = report_.stages[k].memory_level;
      }
    }
  }

  void TakePlace(const AnswerTable& rows, size_t row, ReportStage& stage) {
    stage.flop_per_byte = rows.Number(row, "intensity_flop_per_byte");
    stage.tflop_per_s = rows.Number(row, "achieved_tflops");
    stage.attainable_tflop_per_s = rows.Number(row, "attainable_tflops");
    stage.attainable_percent = rows.Number(row, "attainable_percent");
    stage.gb_per_s = rows.Number(row, "achieved_gb_s");
    ReportRoof& roof = report_.roof;
    const std::optional<double> rate = rows.Number(row, "peak_tflops");
    const std::optional<double> bandwidth = rows.Number(row, "peak_gb_s");
    if (rate && *rate > 0) {
      const std::string dtype = rows.Text(row, "dtype");
      const auto known = std::find_if(roof.rates.begin(), roof.rates.end(),
                                      [&](const ReportRate& one) { return one.tflop_per_s == *rate; });
      if (known == roof.rates.end()) roof.rates.push_back({dtype, *rate});
    }
    // The chart draws the highest peaks, where there are several devices.
    roof.tflop_per_s = std::max(roof.tflop_per_s, rate);
    roof.gb_per_s = std::max(roof.gb_per_s, bandwidth);
    if (roof.text.empty()) roof.text = rows.Text(row, "peak_source");
    TakeMeasuredRoof(rows, row);
  }

  // Both come from one row, so that they are one device's: the first that has a rate, else the first that has any.
  void TakeMeasuredRoof(const AnswerTable& rows, size_t row) {
    ReportRoof& roof = report_.roof;
    const std::optional<double> rate = rows.Number(row, "measured_tflops");
    const std::optional<double> bandwidth = rows.Number(row, "measured_gb_s");
    if (roof.measured_tflop_per_s || (!rate && (!bandwidth || roof.measured_gb_per_s))) return;
    roof.measured_tflop_per_s = rate;
    roof.measured_gb_per_s = bandwidth;
    roof.measured_dtype = rate ? rows.Text(row, "dtype") : "";
    roof.measured_confidence = rows.Text(row, "measured_confidence");
    roof.measured_text = rows.Text(row, "measured_source");
  }

  // Where the report has samples of instructions: the line of the longest kernel that has most of them.
  Status NoteHottestLine() {
    const TraceParts parts = of_.traces.parts();
    const bool has_samples = std::any_of(parts.begin(), parts.end(), [](const TracePart& part) {
      return part.reader->FindSideTable(InstanceSideTable().name) != nullptr;
    });
    if (!has_samples) return OkStatus();
    ASSIGN_OR_RETURN(const KindAnswer source, AskKind("source", of_.traces, {{"limit", "1"}}, stop_));
    const AnswerTable lines = source.table("lines");
    if (lines.size() == 0 || lines.Number(0, "percent").value_or(0) <= 0) return OkStatus();
    const std::string stall = lines.Text(0, "top_stall");
    report_.notes.push_back(
        "hottest line: " + lines.Text(0, "file") + ":" + NumberText(lines.Number(0, "line"), 0) + " has " +
        NumberText(lines.Number(0, "percent"), 1) + " % of the samples of " + ShortKernelName(lines.Text(0, "kernel")) +
        (stall.empty() ? "" : ", most of them " + stall) + ": kprofctl analyze source " + report_.run_id);
    return OkStatus();
  }

  const ReportedRun& of_;
  const StopSignal& stop_;
  Report& report_;
  std::vector<StageKernel> kernels_;
};

}  // namespace

Result<std::vector<StageKernel>> AddKernelStages(const ReportedRun& of, const StopSignal& stop, Report& report) {
  return KernelStages(of, stop, report).Add();
}

}  // namespace kprof
