#include "daemon/analysis/functions/kernel_reports/judged_kernels.h"

#include <algorithm>
#include <cstdio>

#include "daemon/analysis/functions/device_roof.h"

namespace kprof {
namespace {

template <typename Find>
RoofPercents PercentsBy(const Find& find) {
  RoofPercents percents;
  percents.compute = find(Quantity::kComputeSol);
  percents.memory = find(Quantity::kMemorySol);
  percents.dram = find(Quantity::kDramThroughput);
  percents.l1 = find(Quantity::kL1Throughput);
  percents.l2 = find(Quantity::kL2Throughput);
  percents.tensor = find(Quantity::kTensorPipe);
  percents.l2_hit = find(Quantity::kL2Hit);
  return percents;
}

}  // namespace

RoofPercents PercentsOf(const KernelReports& reports, size_t launch) {
  return PercentsBy([&](Quantity quantity) -> std::optional<double> {
    const auto found = reports.Find(launch, quantity);
    return found ? std::optional(found->value) : std::nullopt;
  });
}

RoofPercents PercentsOf(const KernelReports& reports, const ReportKernel& kernel) {
  return PercentsBy([&](Quantity quantity) -> std::optional<double> {
    const auto spread = reports.SpreadOf(kernel, quantity);
    return spread ? std::optional(spread->mean) : std::nullopt;
  });
}

JudgedKernel JudgeKernel(const KernelReports& reports, const ReportKernel& kernel, const ChosenPolicy& policy) {
  JudgedKernel judged;
  judged.duration = reports.SpreadOf(kernel, Quantity::kDuration);
  judged.percents = PercentsOf(reports, kernel);
  judged.verdict = policy.Judge(judged.percents);
  for (const Quantity quantity : {Quantity::kDuration, Quantity::kComputeSol, Quantity::kMemorySol,
                                  Quantity::kDramThroughput, Quantity::kTensorPipe, Quantity::kL2Hit}) {
    for (std::string& doubt : reports.DoubtsOf(kernel, quantity)) judged.verdict.warnings.push_back(std::move(doubt));
  }
  for (const size_t launch : kernel.launches) {
    const std::optional<double> efficiency = policy.Judge(PercentsOf(reports, launch)).efficiency;
    if (!efficiency) continue;
    judged.least_efficiency = std::min(judged.least_efficiency.value_or(100), *efficiency);
    judged.most_efficiency = std::max(judged.most_efficiency.value_or(0), *efficiency);
  }
  return judged;
}

std::string DeviceNameOf(const AnalysisTraces& traces, const KernelReports& reports, const ReportKernel& kernel) {
  if (!kernel.device_name.empty()) return kernel.device_name;
  const size_t part = reports.launches()[kernel.launches.front()].part;
  const Result<DeviceRoof> roof = DeviceRoof::Find(traces.parts()[part]);
  return roof.ok() && roof->names().size() == 1 ? roof->names().front() : "";
}

std::string JsonQuoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < ' ') {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      quoted += escaped;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string JsonOfTexts(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts) json += (json.size() == 1 ? "" : ",") + JsonQuoted(text);
  return json + "]";
}

ReportParts::ReportParts(const AnalysisTraces& traces)
    : has_reports_(std::any_of(traces.parts().begin(), traces.parts().end(), &KernelReports::HasReport)),
      with_events_(EventsOf(traces, has_reports_)) {}

AnalysisTraces ReportParts::EventsOf(const AnalysisTraces& traces, bool has_reports) {
  std::vector<TracePart> parts;
  std::vector<std::string> runs;
  for (size_t i = 0; i < traces.parts().size(); ++i) {
    if (has_reports && traces.parts()[i].reader->rows(EventKind::kSlice) == 0) continue;
    parts.push_back(traces.parts()[i]);
    runs.push_back(traces.run(i));
  }
  return traces.Of(parts, runs);
}

void AddReportNotes(const AnalysisTraces& traces, const KernelReports& reports, AnalysisAnswer& answer) {
  if (reports.launches().empty()) {
    answer.AddNote(traces.parts().empty()
                       ? "the run has no trace, so no report of kernels either"
                       : "no report of kernels: nothing measured their launches; capture with ncu, or "
                         "import a report of Nsight Compute");
    return;
  }
  int64_t without = 0;
  for (size_t i = 0; i < reports.launches().size(); ++i) without += reports.DurationNs(i) ? 0 : 1;
  if (without == 0) return;
  answer.AddNote(std::to_string(without) + " of " + std::to_string(reports.launches().size()) +
                 " launches have no duration (gpu__time_duration.sum): they count for no mean by time, unless none of "
                 "their kernel has one");
}

}  // namespace kprof
