#include "daemon/analysis/report/neuron_stages.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_first_look.h"
#include "daemon/analysis/functions/neuron/profile_first_look.h"
#include "daemon/analysis/report/answer_table.h"
#include "daemon/analysis/report/report_words.h"

namespace kprof {
namespace {

constexpr size_t kMostNeuronStages = 64;
constexpr double kMostlyIdle = 50;  // percent of the time

bool HasProfile(const AnalysisTraces& traces) {
  const TraceParts parts = traces.parts();
  return std::any_of(parts.begin(), parts.end(), [](const TracePart& part) { return IsDeviceProfile(part); });
}

std::optional<double> FactNumber(const KindAnswer& of, std::string_view name) {
  for (size_t i = 0; i < of.kind->facts.size(); ++i) {
    if (of.kind->facts[i].name != name) continue;
    if (const auto* number = std::get_if<int64_t>(&of.answer.facts()[i])) return static_cast<double>(*number);
    if (const auto* number = std::get_if<double>(&of.answer.facts()[i])) return *number;
  }
  return std::nullopt;
}

// DMA moves data; every other engine computes with it.
std::string BoundOfEngine(const std::string& engine) {
  return engine == "dma" ? "memory" : "compute";
}

void AddStage(const std::string& name, const std::string& bottleneck, std::optional<double> count,
              std::optional<double> total_ns, Report& report) {
  if (report.stages.size() == kMostNeuronStages || !total_ns || *total_ns <= 0) return;
  ReportStage& stage = report.stages.emplace_back();
  stage.name = name;
  stage.bottleneck = bottleneck;
  stage.launches = static_cast<int64_t>(count.value_or(1));
  stage.total_ns = total_ns;
  stage.duration_ns = *total_ns / std::max(count.value_or(1), 1.0);
}

void SortStages(Report& report) {
  std::stable_sort(report.stages.begin(), report.stages.end(), [](const ReportStage& a, const ReportStage& b) {
    return a.total_ns.value_or(0) > b.total_ns.value_or(0);
  });
}

// Says what bounds the longest profile, as a summary of the run does.
Status AddBottleneck(const ReportedRun& of, const std::vector<DeviceProfile>& profiles, const StopSignal& stop,
                     Report& report) {
  std::optional<ProfileFirstLook> longest;
  const DeviceProfile* profile = nullptr;
  for (const DeviceProfile& one : profiles) {
    ASSIGN_OR_RETURN(ProfileFirstLook look, LookAtProfile(of.traces, one, stop));
    if (longest && look.wall_ns <= longest->wall_ns) continue;
    longest = std::move(look);
    profile = &one;
  }
  if (!longest) return OkStatus();
  report.bottleneck = longest->bound == "latency"   ? "Latency"
                      : longest->bound == "memory"  ? "Memory"
                      : longest->bound == "compute" ? "Compute"
                                                    : "Unknown";
  if (longest->wall_ns > 0) report.execution_ns = static_cast<double>(longest->wall_ns);
  std::string cause;
  if (profiles.size() > 1) {
    cause = "The longest of " + std::to_string(profiles.size()) + " profiles" +
            (profile->rank ? " is of rank " + std::to_string(*profile->rank) : "") + ". ";
  }
  if (longest->busiest.empty()) {
    cause += "The profile does not say how long its engines worked";
  } else {
    cause += "Of the engines and DMA, " + longest->busiest + " is active longest, for " +
             NumberText(longest->busiest_percent, 1) + " % of the execution";
  }
  if (!longest->dma_percent) {
    cause += "; DMA was not recorded: whether memory bounds it is not known";
  } else if (longest->active_percent) {
    cause += "; anything at all is active for " + NumberText(longest->active_percent, 1) + " % of the execution";
  }
  report.root_cause = cause + ".";
  return OkStatus();
}

// Engines work side by side: their times do not add up to the execution's.
Status AddEngines(const ReportedRun& of, const StopSignal& stop, Report& report) {
  ASSIGN_OR_RETURN(const KindAnswer engines, AskKind("engines", of.traces, {}, stop));
  ASSIGN_OR_RETURN(const std::vector<DeviceProfile> profiles, FindDeviceProfiles(of.traces, stop));
  const AnswerTable rows = engines.table("engines");
  const AnswerTable dma = engines.table("dma");
  std::set<double> cores;
  std::set<double> ranks;
  for (size_t row = 0; row < rows.size(); ++row) {
    cores.insert(rows.Number(row, "core").value_or(0));
    ranks.insert(rows.Number(row, "rank").value_or(-1));
  }
  const auto owner_of = [&](const AnswerTable& table, size_t row) {
    const std::optional<double> rank = table.Number(row, "rank");
    const std::optional<double> core = table.Number(row, "core");
    return (ranks.size() < 2 || !rank ? std::string() : ", rank " + NumberText(rank, 0)) +
           (cores.size() < 2 || !core ? std::string() : ", core " + NumberText(core, 0));
  };
  for (size_t row = 0; row < rows.size(); ++row) {
    AddStage(rows.Text(row, "engine") + " engine" + owner_of(rows, row), BoundOfEngine(rows.Text(row, "engine")),
             std::nullopt, rows.Number(row, "active_ns"), report);
  }
  for (size_t row = 0; row < dma.size(); ++row) {
    AddStage("dma" + owner_of(dma, row), "memory", std::nullopt, dma.Number(row, "active_ns"), report);
  }
  SortStages(report);
  report.measured_ns = FactNumber(engines, "total_ns");
  RETURN_IF_ERROR(AddBottleneck(of, profiles, stop, report));
  for (const DeviceProfile& profile : profiles) {
    if (report.kernel.empty()) report.kernel = profile.kernel;
  }
  // An engine is no kernel.
  if (report.kernel.empty()) report.kernel = "device profile";
  report.notes.push_back(
      "engines work side by side, so that their times add up to more than the execution's: kprofctl "
      "analyze engines, neuron-bounds, dma, instructions " +
      report.run_id);
  return OkStatus();
}

Status AddExecutedKernels(const ReportedRun& of, const StopSignal& stop, Report& report) {
  ASSIGN_OR_RETURN(const KindAnswer lines, AskKind("lines", of.traces, {}, stop));
  ASSIGN_OR_RETURN(const KindAnswer idle, AskKind("device-idle", of.traces, {}, stop));
  const AnswerTable rows = lines.table("kernels");
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string kernel = rows.Text(row, "kernel");
    AddStage(kernel.empty() ? "(no kernel is known)" : kernel, "", rows.Number(row, "executions"),
             rows.Number(row, "nc_ns"), report);
    report.measured_ns = report.measured_ns.value_or(0) + rows.Number(row, "nc_ns").value_or(0);
  }
  SortStages(report);
  const std::optional<double> busy_percent = FactNumber(idle, "utilization_percent");
  report.bottleneck = busy_percent && 100 - *busy_percent >= kMostlyIdle ? "Latency" : "Unknown";
  ASSIGN_OR_RETURN(const NeuronRuntimeLooks looks, LookAtNeuronRuntime(of.traces, stop));
  report.root_cause = looks.ranks.empty() ? "No execution is in the trace." : looks.ranks.front().says + ".";
  for (size_t i = 1; i < looks.ranks.size(); ++i) report.notes.push_back(looks.ranks[i].says);
  if (looks.left_out > 0) report.notes.push_back(std::to_string(looks.left_out) + " more ranks have such a trace");
  if (report.bottleneck == "Unknown") {
    report.notes.emplace_back("a runtime's trace does not tell memory from compute: capture with neuron for that");
  }
  return OkStatus();
}

}  // namespace

bool HasNeuronTrace(const AnalysisTraces& traces) {
  return HasProfile(traces) || !NeuronRanksOf(traces).empty();
}

Status AddNeuronStages(const ReportedRun& of, const StopSignal& stop, Report& report) {
  return HasProfile(of.traces) ? AddEngines(of, stop, report) : AddExecutedKernels(of, stop, report);
}

}  // namespace kprof
