#include "daemon/analysis/report/neuron_stages.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "daemon/analysis/functions/neuron/device_profile.h"
#include "daemon/analysis/functions/neuron/neuron_events.h"
#include "daemon/analysis/functions/neuron/neuron_first_look.h"
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

// A fact as text; empty: it has no value.
std::string FactText(const KindAnswer& of, std::string_view name) {
  for (size_t i = 0; i < of.kind->facts.size(); ++i) {
    if (of.kind->facts[i].name != name) continue;
    if (const auto* text = std::get_if<std::string>(&of.answer.facts()[i])) return *text;
  }
  return "";
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
  if (engine.empty()) return "";
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

// Engines work side by side: their times do not add up to the execution's.
Status AddEngines(const ReportedRun& of, const StopSignal& stop, Report& report) {
  ASSIGN_OR_RETURN(const KindAnswer engines, AskKind("engines", of.traces, {}, stop));
  ASSIGN_OR_RETURN(const KindAnswer bounds, AskKind("neuron-bounds", of.traces, {}, stop));
  const AnswerTable rows = engines.table("engines");
  const AnswerTable dma = engines.table("dma");
  std::set<double> cores;
  for (size_t row = 0; row < rows.size(); ++row) cores.insert(rows.Number(row, "core").value_or(0));
  const auto of_core = [&cores](const AnswerTable& table, size_t row) {
    return cores.size() < 2 ? std::string() : ", core " + NumberText(table.Number(row, "core"), 0);
  };
  for (size_t row = 0; row < rows.size(); ++row) {
    AddStage(rows.Text(row, "engine") + " engine" + of_core(rows, row), BoundOfEngine(rows.Text(row, "engine")),
             std::nullopt, rows.Number(row, "active_ns"), report);
  }
  for (size_t row = 0; row < dma.size(); ++row) {
    AddStage("dma" + of_core(dma, row), "memory", std::nullopt, dma.Number(row, "active_ns"), report);
  }
  SortStages(report);
  report.measured_ns = FactNumber(engines, "total_ns");
  if (report.stages.empty()) {
    report.bottleneck = "Unknown";
    report.root_cause = "The profile has counters of a summary alone, and no instructions: kprofctl analyze engines " +
                        report.run_id + " shows them.";
    return OkStatus();
  }
  const std::string slowest = FactText(bounds, "bottleneck");
  const std::optional<double> active_percent = FactNumber(engines, "active_percent");
  const std::string bound = BoundOfEngine(slowest);
  report.bottleneck = active_percent && *active_percent < kMostlyIdle ? "Latency"
                      : bound == "memory"                             ? "Memory"
                      : bound == "compute"                            ? "Compute"
                                                                      : "Unknown";
  report.root_cause = slowest.empty() ? "Several cores or profiles: each has its own bottleneck"
                                      : "Of the engines and DMA, " + slowest + " is active longest";
  if (active_percent) {
    report.root_cause += "; anything at all is active for " + NumberText(active_percent, 1) + " % of the execution";
  }
  report.root_cause += ".";
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
