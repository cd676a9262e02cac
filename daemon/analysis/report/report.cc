#include "daemon/analysis/report/report.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report_configuration.h"
#include "daemon/analysis/report/report_timeline.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kMostOpportunities = 10;
constexpr size_t kMostStages = 64;
constexpr double kIdleIsMost = 50;  // percent of the time

std::optional<double> MeanOf(const KernelReports& reports, const ReportKernel& kernel, Quantity quantity) {
  const std::optional<ReportSpread> spread = reports.SpreadOf(kernel, quantity);
  return spread ? std::optional(spread->mean) : std::nullopt;
}

std::optional<double> ScaledBy(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

std::optional<double> ProductOf(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::optional(*one * *other) : std::nullopt;
}

// The class of a bottleneck, as headings have it.
std::string HeadingOf(const std::string& bottleneck) {
  if (bottleneck == "memory") return "Memory";
  if (bottleneck == "compute") return "Compute";
  if (bottleneck == "underutilized") return "Latency";
  if (bottleneck == "balanced") return "Balanced";
  return "Unknown";
}

class ReportMaker {
 public:
  ReportMaker(const ReportedRun& of, const StopSignal& stop) : of_(of), stop_(stop) {}

  Result<Report> Make() {
    NameRun();
    bool has_slices = false;
    for (const TracePart& part : of_.traces.parts()) {
      has_kernels_ |= KernelReports::HasReport(part);
      has_slices |= part.reader->rows(EventKind::kSlice) > 0;
    }
    if (has_kernels_) {
      RETURN_IF_ERROR(AddKernels());
    } else if (has_slices) {
      RETURN_IF_ERROR(AddTimeline());
    } else {
      report_.bottleneck = "Unknown";
      report_.root_cause = "The run has no trace and no kernel report: nothing says what bounds it.";
      report_.notes.push_back("capture it with the tool annotation, ncu or nsys, or import a trace");
    }
    if (report_.kernel.empty()) report_.kernel = report_.stages.empty() ? of_.run.tool : report_.stages.front().name;
    return std::move(report_);
  }

 private:
  void NameRun() {
    const auto label = [this](const char* key) {
      const auto found = of_.run.labels.find(key);
      return found == of_.run.labels.end() ? std::string() : found->second;
    };
    report_.run_id = of_.run.id;
    report_.tool = of_.run.tool;
    report_.kernel = label("kernel");
    report_.version = label("version");
    report_.started_unix_ns = of_.run.started_ns.value_or(of_.run.queued_ns);
    report_.trust = of_.run.trust;
    const auto has = [this](std::string_view code) {
      return std::any_of(of_.run.trust.begin(), of_.run.trust.end(),
                         [code](const TrustReason& reason) { return reason.code == code; });
    };
    const bool has_device = std::any_of(of_.run.devices.begin(), of_.run.devices.end(),
                                        [](const std::string& device) { return device != "cpu"; });
    const bool is_held = has_device && of_.run.clocks != "none" && !has("clocks_not_locked") && !has("clocks_not_held");
    if (is_held) report_.clocks = of_.run.clocks == "base" ? "base clocks" : "locked clocks";
    report_.configuration = ConfigurationOf(of_.params, report_.notes);
    if (!of_.stages_fault.empty())
      report_.notes.push_back("the stages that were given are left out: " + of_.stages_fault);
  }

  Status AddKernels() {
    ASSIGN_OR_RETURN(const KernelReports reports, KernelReports::Read(of_.traces, {}, stop_));
    std::map<std::string, std::string> given;
    if (!of_.stages.empty()) given.emplace("stages", of_.stages);
    ASSIGN_OR_RETURN(const KindAnswer roofline, AskKind("roofline", of_.traces, given, stop_));
    AddStages(roofline.table("stages"));
    const AnswerTable rows = roofline.table("kernels");
    for (const ReportKernel& kernel : reports.kernels()) {
      const std::optional<ReportSpread> time = reports.SpreadOf(kernel, Quantity::kDuration);
      if (time) report_.measured_ns = report_.measured_ns.value_or(0) + time->sum;
    }
    for (const ReportKernel& kernel : reports.kernels()) {
      if (report_.device.empty()) report_.device = kernel.device_name;
      if (report_.stages.size() == kMostStages) break;
      ReportStage& stage = report_.stages.emplace_back();
      stage.name = ShortKernelName(kernel.name);
      names_.push_back(kernel.name);
      stage.launches = static_cast<int64_t>(kernel.launches.size());
      if (const std::optional<ReportSpread> time = reports.SpreadOf(kernel, Quantity::kDuration)) {
        stage.duration_ns = time->mean;
        stage.total_ns = time->sum;
      }
      stage.tensor_percent = MeanOf(reports, kernel, Quantity::kTensorPipe);
      stage.dram_percent = MeanOf(reports, kernel, Quantity::kDramThroughput);
      stage.occupancy_percent = MeanOf(reports, kernel, Quantity::kAchievedOccupancy);
      stage.compute_sol_percent = MeanOf(reports, kernel, Quantity::kComputeSol);
      stage.memory_sol_percent = MeanOf(reports, kernel, Quantity::kMemorySol);
      AddRoof(rows, kernel.name, stage);
    }
    JudgeStagesByKernels();
    AddNotesOf(roofline.answer, report_);
    RETURN_IF_ERROR(AddFindings());
    if (!report_.stages.empty()) report_.bottleneck = HeadingOf(report_.stages.front().bottleneck);
    report_.root_cause = CauseOfKernels();
    return OkStatus();
  }

  // The stages that the caller named, before the kernels that they are made of.
  void AddStages(const AnswerTable& rows) {
    const auto total_of = [&rows](size_t row) {
      return ProductOf(rows.Number(row, "duration_ns"), rows.Number(row, "times"));
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
      names_.push_back(rows.Text(row, "longest_kernel"));
      stage.launches = static_cast<int64_t>(rows.Number(row, "launches").value_or(0));
      stage.duration_ns = rows.Number(row, "duration_ns");
      stage.total_ns = total_of(row);
      stage.tensor_percent = rows.Number(row, "tensor_percent");
      stage.dram_percent = rows.Number(row, "dram_percent");
      stage.occupancy_percent = rows.Number(row, "occupancy_percent");
      stage.compute_sol_percent = rows.Number(row, "compute_sol_percent");
      stage.memory_sol_percent = rows.Number(row, "memory_sol_percent");
      stage.bottleneck = rows.Text(row, "bound");
      stage.flop_per_byte = rows.Number(row, "intensity_flop_per_byte");
      stage.tflop_per_s = rows.Number(row, "achieved_tflops");
      stage.attainable_tflop_per_s = rows.Number(row, "attainable_tflops");
      stage.gb_per_s = rows.Number(row, "achieved_gb_s");
      TakeRoof(rows, row);
    }
  }

  // A stage whose work is not told lies nowhere under the roof: it has the verdict on its longest kernel.
  void JudgeStagesByKernels() {
    for (size_t i = 0; i < report_.stages.size(); ++i) {
      ReportStage& stage = report_.stages[i];
      if (!stage.is_named || !stage.bottleneck.empty()) continue;
      for (size_t k = i + 1; k < report_.stages.size(); ++k) {
        if (!report_.stages[k].is_named && names_[k] == names_[i]) stage.bottleneck = report_.stages[k].bottleneck;
      }
    }
  }

  void TakeRoof(const AnswerTable& rows, size_t row) {
    if (!report_.roof.tflop_per_s) report_.roof.tflop_per_s = rows.Number(row, "peak_tflops");
    if (!report_.roof.gb_per_s) report_.roof.gb_per_s = rows.Number(row, "peak_gb_s");
    if (report_.roof.text.empty()) report_.roof.text = rows.Text(row, "peak_source");
    TakeMeasuredRoof(rows, row);
  }

  // Of one row, so that rate and bandwidth are one device's; the first that has a rate, else the first that has any.
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

  void AddRoof(const AnswerTable& rows, const std::string& kernel, ReportStage& stage) {
    for (size_t row = 0; row < rows.size(); ++row) {
      if (rows.Text(row, "name") != kernel) continue;
      stage.bottleneck = rows.Text(row, "bottleneck");
      stage.flop_per_byte = rows.Number(row, "intensity_flop_per_byte");
      stage.tflop_per_s = rows.Number(row, "achieved_tflops");
      stage.attainable_tflop_per_s = rows.Number(row, "attainable_tflops");
      stage.gb_per_s = rows.Number(row, "achieved_gb_s");
      TakeRoof(rows, row);
      return;
    }
  }

  // The findings, the largest gain first. Each stage has the one that costs it most.
  Status AddFindings() {
    std::map<std::string, std::string> given;
    if (has_kernels_ && !of_.stages.empty()) given.emplace("stages", of_.stages);
    ASSIGN_OR_RETURN(const std::optional<KindAnswer> findings,
                     AskKindIfItFits("findings", of_.traces, given, stop_, report_.notes));
    if (!findings) {
      report_.left_out.emplace_back("findings");
      return OkStatus();
    }
    const AnswerTable rows = findings->table("findings");
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::string kernel = rows.Text(row, "kernel");
      for (size_t i = 0; i < report_.stages.size(); ++i) {
        std::string& issue = report_.stages[i].issue;
        if (issue.empty() && i < names_.size() && names_[i] == kernel) issue = rows.Text(row, "code");
      }
      if (cause_.empty() && !names_.empty() && kernel == names_.front()) cause_ = rows.Text(row, "message");
      if (report_.opportunities.size() == kMostOpportunities) continue;
      const std::string code = rows.Text(row, "code");
      // A trace has one for each of many ranks.
      const bool is_known = std::any_of(report_.opportunities.begin(), report_.opportunities.end(),
                                        [&code](const ReportOpportunity& one) { return one.name == code; });
      if (is_known && !report_.devices.empty()) continue;
      std::string trigger = TriggerOf(rows.Text(row, "evidence"));
      if (trigger.empty()) trigger = "rule=" + code;  // a printed table has no metric of a rule
      report_.opportunities.push_back({code, GainOf(rows, row), std::move(trigger), rows.Text(row, "message"),
                                       rows.Text(row, "hint"), rows.Text(row, "source"),
                                       kernel.empty() ? kernel : ShortKernelName(kernel)});
    }
    AddNotesOf(findings->answer, report_);
    return OkStatus();
  }

  // A finding about a kernel tells its gain of that kernel's time; a report tells what all of it would gain.
  std::optional<double> GainOf(const AnswerTable& rows, size_t row) const {
    if (!has_kernels_) return rows.Number(row, "gain_percent");
    const std::optional<double> gain_ns = rows.Number(row, "gain_ns");
    if (!gain_ns || report_.measured_ns.value_or(0) <= 0) return std::nullopt;
    return *gain_ns / *report_.measured_ns * 100;
  }

  std::string CauseOfKernels() const {
    if (report_.stages.empty()) return "No launch was measured.";
    const ReportStage& first = report_.stages.front();
    const double whole_ns = report_.measured_ns.value_or(0);
    std::string cause = first.name;
    if (whole_ns > 0 && first.total_ns)
      cause += " takes " + NumberText(*first.total_ns / whole_ns * 100, 0) + " % of the time";
    cause += ": compute at " + NumberText(first.compute_sol_percent, 1) + " %, memory at " +
             NumberText(first.memory_sol_percent, 1) + " % of the device's peak.";
    return cause + " " + (cause_.empty() ? "No rule finds anything to gain in it." : SentenceOf(cause_));
  }

  Status AddTimeline() {
    RETURN_IF_ERROR(AddTraceTimes(of_.traces, stop_, report_));
    RETURN_IF_ERROR(AddStagesOfTrace());
    RETURN_IF_ERROR(AddFindings());
    // A timeline alone does not say whether kernels wait for memory or compute.
    const std::optional<double> idle = TimelineShare("idle");
    report_.bottleneck = idle.value_or(0) >= kIdleIsMost ? "Latency" : "Unknown";
    report_.root_cause = "The device was idle for " + NumberText(idle, 1) + " % of the time and computed for " +
                         NumberText(TimelineShare("compute"), 1) + " %.";
    if (!report_.opportunities.empty()) {
      report_.root_cause += " " + SentenceOf(report_.opportunities.front().message);
    }
    if (report_.bottleneck == "Unknown") {
      report_.notes.push_back("a timeline does not tell memory from compute: capture with annotation or ncu for that");
    }
    return OkStatus();
  }

  std::optional<double> TimelineShare(std::string_view name) const {
    for (const auto& [one, percent] : report_.timeline) {
      if (one == name) return percent;
    }
    return std::nullopt;
  }

  using Occupancies = std::map<std::string, std::pair<double, double>>;  // by kernel: percent x ns, ns

  Result<Occupancies> ReadOccupancies() {
    Occupancies occupancies;
    ASSIGN_OR_RETURN(const std::optional<KindAnswer> fills,
                     AskKindIfItFits("occupancy", of_.traces, {}, stop_, report_.notes));
    if (!fills) return occupancies;
    const AnswerTable rows = fills->table("kernels");
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::optional<double> percent = rows.Number(row, "occupancy_percent");
      if (!percent) continue;
      const double ns = rows.Number(row, "sum_ns").value_or(0);
      auto& [sum, known_ns] = occupancies[rows.Text(row, "name")];
      sum += *percent * ns;
      known_ns += ns;
    }
    return occupancies;
  }

  // Kernels of one name are one stage, whichever ranks ran them.
  Status AddStagesOfTrace() {
    ASSIGN_OR_RETURN(const KindAnswer kernels, AskKind("kernel-breakdown", of_.traces, {}, stop_));
    const AnswerTable rows = kernels.table("kernels");
    std::map<std::string, ReportStage> stages;
    for (size_t row = 0; row < rows.size(); ++row) {
      ReportStage& stage = stages[rows.Text(row, "name")];
      stage.launches += static_cast<int64_t>(rows.Number(row, "count").value_or(0));
      stage.total_ns = stage.total_ns.value_or(0) + rows.Number(row, "sum_ns").value_or(0);
      report_.measured_ns = report_.measured_ns.value_or(0) + rows.Number(row, "sum_ns").value_or(0);
    }
    ASSIGN_OR_RETURN(const Occupancies occupancies, ReadOccupancies());
    std::vector<const std::pair<const std::string, ReportStage>*> order;
    order.reserve(stages.size());
    for (const auto& stage : stages) order.push_back(&stage);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->second.total_ns.value_or(0) > b->second.total_ns.value_or(0);
    });
    bool has_occupancy = false;
    for (size_t i = 0; i < order.size() && i < kMostStages; ++i) {
      const auto& [name, sums] = *order[i];
      names_.push_back(name);
      ReportStage& stage = report_.stages.emplace_back(sums);
      stage.name = ShortKernelName(name);
      if (stage.launches > 0) stage.duration_ns = *stage.total_ns / static_cast<double>(stage.launches);
      const auto occupancy = occupancies.find(name);
      if (occupancy == occupancies.end() || occupancy->second.second <= 0) continue;
      stage.occupancy_percent = occupancy->second.first / occupancy->second.second;
      has_occupancy = true;
    }
    if (has_occupancy) {
      report_.notes.push_back("Occ% is what the trace's profiler estimated from the launches, and not a measurement");
    }
    return OkStatus();
  }

  const ReportedRun& of_;
  const StopSignal& stop_;
  Report report_;
  bool has_kernels_ = false;        // that a profiler of kernels measured
  std::vector<std::string> names_;  // of the stages, as their parts have them
  std::string cause_;               // what a rule says of the kernel that takes most time
};

void AddChanges(const Report& baseline, Report& report) {
  report.baseline_id = baseline.run_id;
  if (report.stages.empty() || baseline.stages.empty()) return;
  const ReportStage& now = report.stages.front();
  // The stage of the same name, else the longest: a new version of a kernel may be called otherwise.
  const auto same = std::find_if(baseline.stages.begin(), baseline.stages.end(),
                                 [&now](const ReportStage& stage) { return stage.name == now.name; });
  const ReportStage& before = same == baseline.stages.end() ? baseline.stages.front() : *same;
  if (before.name != now.name) {
    report.notes.push_back("the baseline has no " + now.name + ": its longest, " + before.name +
                           ", is compared with it");
  }
  constexpr double kUsPerNs = 1e-3;
  report.changes = {
      {"Duration", "us", ScaledBy(before.duration_ns, kUsPerNs), ScaledBy(now.duration_ns, kUsPerNs)},
      {"All stages", "us", ScaledBy(baseline.measured_ns, kUsPerNs), ScaledBy(report.measured_ns, kUsPerNs)},
      {"Achieved TFLOPs/s", "", before.tflop_per_s, now.tflop_per_s},
      {"Achieved GB/s", "", before.gb_per_s, now.gb_per_s},
      {"TC Util", "%", before.tensor_percent, now.tensor_percent},
      {"DRAM", "%", before.dram_percent, now.dram_percent},
      {"Occupancy", "%", before.occupancy_percent, now.occupancy_percent},
  };
  std::erase_if(report.changes, [](const ReportChange& change) { return !change.previous && !change.current; });
  const auto differ = [&report](const char* what, const std::string& one, const std::string& other) {
    if (one == other) return;
    report.trust.push_back({"conditions_differ", std::string(what) +
                                                     " of the baseline: " + (other.empty() ? "not known" : other) +
                                                     ", of this run: " + (one.empty() ? "not known" : one)});
  };
  differ("the device", report.device, baseline.device);
  differ("clocks", report.clocks.empty() ? "not held" : report.clocks,
         baseline.clocks.empty() ? "not held" : baseline.clocks);
  if (report.configuration != baseline.configuration) {
    report.trust.push_back({"conditions_differ", "the configuration is not that of the baseline"});
  }
}

}  // namespace

bool IsLeftOut(const Report& report, std::string_view analysis) {
  return std::find(report.left_out.begin(), report.left_out.end(), analysis) != report.left_out.end();
}

std::string ProfileFolder(const Report& report) {
  std::string params;
  for (const auto& [name, value] : report.configuration) {
    params += (params.empty() ? "" : "_") + name + "=" + value;
  }
  const time_t started_s = static_cast<time_t>(report.started_unix_ns / 1'000'000'000);
  struct tm utc {};
  ::gmtime_r(&started_s, &utc);
  char time[32];
  ::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &utc);
  return PathStep(report.tool) + "/" + PathStep(ShortKernelName(report.kernel)) + "/" +
         (params.empty() ? "no-params" : PathStep(params)) + "/" + time;
}

Result<Report> MakeReport(const ReportedRun& of, const ReportedRun* baseline, const StopSignal& stop) {
  ASSIGN_OR_RETURN(Report report, ReportMaker(of, stop).Make());
  if (baseline == nullptr) return report;
  ASSIGN_OR_RETURN(const Report before, ReportMaker(*baseline, stop).Make());
  AddChanges(before, report);
  return report;
}

}  // namespace kprof
