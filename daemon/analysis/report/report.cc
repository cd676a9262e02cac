#include "daemon/analysis/report/report.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/analysis/functions/kernel_reports/kernel_reports.h"
#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/kernel_stages.h"
#include "daemon/analysis/report/neuron_stages.h"
#include "daemon/analysis/report/report_configuration.h"
#include "daemon/analysis/report/report_opportunities.h"
#include "daemon/analysis/report/report_timeline.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kMostStages = 64;
constexpr double kIdleIsMost = 50;  // percent of the time

std::optional<double> ScaledBy(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

// The class of a bottleneck, as headings have it.
std::string HeadingOf(const std::string& bottleneck) {
  if (bottleneck == "memory") return "Memory";
  if (bottleneck == "compute") return "Compute";
  if (bottleneck == "underutilized") return "Latency";
  if (bottleneck == "balanced") return "Balanced";
  return "Unknown";
}

// " (L2)": which memory; empty: DRAM, or not known.
std::string MemoryLevelText(const ReportStage& stage) {
  if (stage.memory_level == "l2") return " (L2)";
  return stage.memory_level == "l1" ? " (L1)" : "";
}

class ReportMaker {
 public:
  ReportMaker(const ReportedRun& of, const StopSignal& stop) : of_(of), stop_(stop) {}

  Result<Report> Make() {
    NameRun();
    bool has_kernels = false;
    bool has_slices = false;
    for (const TracePart& part : of_.traces.parts()) {
      has_kernels |= KernelReports::HasReport(part);
      has_slices |= part.reader->rows(EventKind::kSlice) > 0;
    }
    if (HasNeuronTrace(of_.traces)) {
      RETURN_IF_ERROR(AddNeuron());
    } else if (has_kernels) {
      RETURN_IF_ERROR(AddKernels());
    } else if (has_slices) {
      RETURN_IF_ERROR(AddTimeline());
    } else {
      report_.bottleneck = "Unknown";
      report_.root_cause = "The run has no trace and no kernel report: nothing says what bounds it.";
      if (!of_.run.error)
        report_.notes.push_back("capture it with the tool annotation, ncu or nsys, or import a trace");
    }
    if (report_.kernel.empty()) report_.kernel = LongestKernel();
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
    if (of_.run.error) {
      report_.trust.push_back({"run_failed", "the run failed: " + of_.run.error->code + ": " + of_.run.error->message});
    }
    report_.configuration = ConfigurationOf(of_.params, report_.notes);
    if (!of_.stages_fault.empty())
      report_.notes.push_back("the stages that were given are left out: " + of_.stages_fault);
  }

  std::string LongestKernel() const {
    const auto kernel = std::find_if(report_.stages.begin(), report_.stages.end(),
                                     [](const ReportStage& stage) { return !stage.is_named; });
    return kernel == report_.stages.end() ? "no kernel" : kernel->name;
  }

  Status AddNeuron() {
    RETURN_IF_ERROR(AddNeuronStages(of_, stop_, report_));
    return AddOpportunities(of_, {}, false, stop_, report_).status();
  }

  Status AddKernels() {
    ASSIGN_OR_RETURN(const std::vector<StageKernel> kernels, AddKernelStages(of_, stop_, report_));
    ASSIGN_OR_RETURN(const std::string says, AddOpportunities(of_, kernels, true, stop_, report_));
    if (!report_.stages.empty()) report_.bottleneck = HeadingOf(report_.stages.front().bottleneck);
    report_.root_cause = CauseOfKernels(says);
    return OkStatus();
  }

  // `says`: what a rule says of the first stage.
  std::string CauseOfKernels(const std::string& says) const {
    if (report_.stages.empty()) return "No launch was measured.";
    const ReportStage& first = report_.stages.front();
    const double whole_ns = report_.measured_ns.value_or(0);
    std::string cause = first.name;
    if (!first.compute_sol_percent && !first.memory_sol_percent) {
      return cause + ": the report has no throughput of compute and memory, so nothing says what bounds it" +
             (first.total_ns ? "." : ", and no durations.") + (says.empty() ? "" : " " + SentenceOf(says));
    }
    if (whole_ns > 0 && first.total_ns)
      cause += " takes " + NumberText(*first.total_ns / whole_ns * 100, 0) + " % of the time";
    cause += ": compute at " + NumberText(first.compute_sol_percent, 1) + " %, memory at " +
             NumberText(first.memory_sol_percent, 1) + " %" + MemoryLevelText(first) + " of the device's peak.";
    if (!says.empty()) return cause + " " + SentenceOf(says);
    const bool has_all = report_.unasked.empty();
    return cause + " No rule finds anything to gain in it" + (has_all ? "." : "; " + UnaskedText(report_) + ".");
  }

  Status AddTimeline() {
    RETURN_IF_ERROR(AddTraceTimes(of_.traces, stop_, report_));
    ASSIGN_OR_RETURN(const std::vector<StageKernel> kernels, AddStagesOfTrace());
    RETURN_IF_ERROR(AddOpportunities(of_, kernels, false, stop_, report_).status());
    // A timeline alone does not say whether kernels wait for memory or compute.
    const std::optional<double> idle = TimelineShare("idle");
    if (!idle || report_.stages.empty()) {
      report_.bottleneck = "Unknown";
      report_.timeline.clear();
      report_.root_cause = "No work of a device is in this trace: it has what the host did alone.";
      return OkStatus();
    }
    const bool has_computed = TimelineShare("compute").value_or(0) > 0;
    report_.bottleneck = has_computed && *idle >= kIdleIsMost ? "Latency" : "Unknown";
    report_.root_cause = "The device was idle for " + NumberText(idle, 1) + " % of the time and computed for " +
                         NumberText(TimelineShare("compute"), 1) + " %.";
    if (!report_.opportunities.empty()) {
      report_.root_cause += " " + SentenceOf(report_.opportunities.front().message);
    }
    if (!has_computed) {
      report_.notes.emplace_back("no kernel is in the trace: its device only moved or set memory");
    } else if (report_.bottleneck == "Unknown") {
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
  Result<std::vector<StageKernel>> AddStagesOfTrace() {
    std::vector<StageKernel> same;
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
      same.push_back({name, std::nullopt, std::nullopt, true});
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
    return same;
  }

  const ReportedRun& of_;
  const StopSignal& stop_;
  Report report_;
};

constexpr double kUsPerNs = 1e-3;

// Engines work side by side: the execution is what takes time, and each engine has a row of its own.
void AddChangesOfExecution(const Report& baseline, Report& report) {
  report.changes = {
      {"Duration", "us", ScaledBy(baseline.execution_ns, kUsPerNs), ScaledBy(report.execution_ns, kUsPerNs)}};
  for (const ReportStage& now : report.stages) {
    const auto before = std::find_if(baseline.stages.begin(), baseline.stages.end(),
                                     [&now](const ReportStage& stage) { return stage.name == now.name; });
    report.changes.push_back({now.name, "us",
                              before == baseline.stages.end() ? std::nullopt : ScaledBy(before->duration_ns, kUsPerNs),
                              ScaledBy(now.duration_ns, kUsPerNs)});
  }
}

void AddChangesOfStages(const Report& baseline, Report& report) {
  if (report.stages.empty() || baseline.stages.empty()) return;
  const ReportStage& now = report.stages.front();
  // The stage of the same name; the only one where there is one alone, as a new version may be called otherwise.
  const auto same = std::find_if(baseline.stages.begin(), baseline.stages.end(),
                                 [&now](const ReportStage& stage) { return stage.name == now.name; });
  ReportStage before;
  if (same != baseline.stages.end()) {
    before = *same;
  } else if (report.stages.size() == 1 && baseline.stages.size() == 1) {
    before = baseline.stages.front();
    report.notes.push_back("the baseline has no " + now.name + ": its only stage, " + before.name +
                           ", is compared with it");
  } else {
    report.notes.push_back("the baseline has no " + now.name + ": all stages together are compared");
  }
  report.changes = {
      {"Duration", "us", ScaledBy(before.duration_ns, kUsPerNs), ScaledBy(now.duration_ns, kUsPerNs)},
      {"All stages", "us", ScaledBy(baseline.round_ns, kUsPerNs), ScaledBy(report.round_ns, kUsPerNs)},
      {"Achieved TFLOPs/s", "", before.tflop_per_s, now.tflop_per_s},
      {"Achieved GB/s", "", before.gb_per_s, now.gb_per_s},
      {"TC Util", "%", before.tensor_percent, now.tensor_percent},
      {"DRAM", "%", before.dram_percent, now.dram_percent},
      {"Occupancy", "%", before.occupancy_percent, now.occupancy_percent},
  };
  const bool is_same_stage = !before.name.empty();
  std::erase_if(report.changes, [is_same_stage](const ReportChange& change) {
    const bool is_of_all = change.metric == "All stages";
    return (!change.previous && !change.current) || (!is_same_stage && !is_of_all);
  });
}

void AddChanges(const Report& baseline, Report& report) {
  report.baseline_id = baseline.run_id;
  if (report.execution_ns && baseline.execution_ns) {
    AddChangesOfExecution(baseline, report);
  } else {
    AddChangesOfStages(baseline, report);
  }
  if (report.changes.empty()) return;
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
