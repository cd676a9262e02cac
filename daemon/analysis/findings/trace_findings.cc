#include "daemon/analysis/findings/trace_findings.h"

#include <algorithm>
#include <tuple>

#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/functions/part_notes.h"

namespace kprof {

void TraceFindings::AddNotEvaluated(const FindingRule& rule, std::vector<TraceMetric> missing, const std::string& run,
                                    int64_t devices) {
  for (FindingNotEvaluated& known : not_evaluated_) {
    if (known.rule != &rule || known.run != run || known.missing != missing) continue;
    known.devices += devices;
    return;
  }
  not_evaluated_.push_back({&rule, run, std::move(missing), devices});
}

void TraceFindings::Ask(const FindingRule& rule, const TraceMetrics& metrics, const std::string& run,
                        std::optional<int64_t> rank, const DeviceTraceMetrics* of, bool is_one_of_many) {
  std::vector<TraceMetric> missing = MissingMetrics(rule, metrics);
  if (!missing.empty()) return AddNotEvaluated(rule, std::move(missing), run, of == nullptr ? 0 : 1);
  if (!rule.is_triggered(metrics)) return;
  TraceFinding found{.rule = &rule, .run = run, .rank = rank, .whole_ns = metrics[rule.needs.front()]};
  if (of != nullptr) found.device = of->device;
  found.gain_ns = std::clamp<int64_t>(rule.gain_ns(metrics), 0, found.whole_ns);
  found.message = rule.message(metrics);
  found.kernel = metrics.kernels[rule.kernel];
  found.evidence = EvidenceOf(rule, metrics);
  found.command = std::string("kprofctl analyze ") + rule.kind + " " + run;
  if (rank && of != nullptr) found.command += " --rank " + std::to_string(*rank);
  if (is_one_of_many && found.device) found.command += " --device " + std::to_string(*found.device);
  findings_.push_back(std::move(found));
}

void TraceFindings::AddPart(const AnalysisTraces& traces, size_t part, const PartTraceMetrics& metrics) {
  const std::string& run = traces.run(part);
  const std::optional<int64_t> rank = traces.parts()[part].rank;
  RunLoad& load = runs_[run];
  load.has_devices |= !metrics.devices.empty();
  for (const DeviceTraceMetrics& of : metrics.devices) {
    for (const FindingRule& rule : FindingRules()) {
      if (rule.scope == FindingScope::kDevice) Ask(rule, of.metrics, run, rank, &of, metrics.devices.size() > 1);
    }
    if (!rank) continue;
    RankLoad& of_rank = load.ranks[*rank];
    of_rank.compute_ns = SaturatingSum(of_rank.compute_ns, of.of_type_ns[static_cast<size_t>(KernelType::kCompute)]);
    of_rank.whole_ns = SaturatingSum(of_rank.whole_ns, of.metrics[TraceMetric::kTotalNs]);
  }
}

void TraceFindings::Close() {
  for (const auto& [run, load] : runs_) {
    TraceMetrics metrics;
    if (load.ranks.size() > 1) {
      int64_t most_rank = load.ranks.begin()->first;
      int64_t whole = 0;
      double sum = 0;
      for (const auto& [rank, of] : load.ranks) {
        if (of.compute_ns > load.ranks.at(most_rank).compute_ns) most_rank = rank;
        whole = std::max(whole, of.whole_ns);
        sum += static_cast<double>(of.compute_ns);
      }
      metrics.Set(TraceMetric::kTotalNs, whole);
      metrics.Set(TraceMetric::kRanks, static_cast<int64_t>(load.ranks.size()));
      metrics.Set(TraceMetric::kMostComputeNs, load.ranks.at(most_rank).compute_ns);
      metrics.Set(TraceMetric::kMostComputeRank, most_rank);
      metrics.Set(TraceMetric::kMeanComputeNs, static_cast<int64_t>(sum / static_cast<double>(load.ranks.size())));
    }
    for (const FindingRule& rule : FindingRules()) {
      if (rule.scope == FindingScope::kRun)
        Ask(rule, metrics, run, metrics.Find(TraceMetric::kMostComputeRank), nullptr, false);
      if (rule.scope == FindingScope::kDevice && !load.has_devices) AddNotEvaluated(rule, rule.needs, run, 0);
    }
  }
  std::stable_sort(findings_.begin(), findings_.end(), [](const TraceFinding& a, const TraceFinding& b) {
    return std::tie(b.gain_ns, a.run, a.rank, a.device) < std::tie(a.gain_ns, b.run, b.rank, b.device);
  });
}

Status ForEachPartMetrics(const AnalysisTraces& traces, const DeviceScope& scope, bool ran_elsewhere,
                          const StopSignal& stop, AnalysisAnswer& answer,
                          const std::function<Status(size_t part, PartTraceMetrics& metrics)>& see) {
  PartNotes notes(scope.TextOfBounds());
  for (size_t part = 0; part < traces.parts().size(); ++part) {
    RETURN_IF_ERROR(StillWanted(stop));
    Result<PartTraceMetrics> metrics =
        scope.never(part) ? PartTraceMetrics() : ReadPartMetrics(traces, part, scope, stop);
    if (!metrics.ok()) {
      if (metrics.status().code() != ErrorCode::kStorageBroken || traces.parts().size() == 1) return metrics.status();
      answer.AddTrust({"rank_unreadable", traces.NameOf(part) + " is left out: " + metrics.status().why()});
      continue;
    }
    if (metrics->devices.empty()) {
      if (!ran_elsewhere) notes.AddLack(part, "no kernels", "nothing ran on a device");
    } else if (!metrics->has_launches) {
      notes.AddLack(part, "no launches",
                    "no call of the host has the correlation of a kernel, so nobody knows what the devices waited for");
    }
    RETURN_IF_ERROR(see(part, *metrics));
  }
  notes.AddTo(traces, answer);
  return OkStatus();
}

}  // namespace kprof
