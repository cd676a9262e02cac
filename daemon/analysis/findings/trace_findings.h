// The findings of traces: FindingRules() asked of the metrics of each device and of each run.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/findings/finding_rule.h"
#include "daemon/analysis/findings/trace_metrics.h"

namespace kprof {

struct TraceFinding {
  const FindingRule* rule = nullptr;
  std::string run;
  std::optional<int64_t> rank;
  std::optional<int64_t> device;
  int64_t gain_ns = 0;
  int64_t whole_ns = 0;
  std::string message;
  std::string kernel;    // empty: it is about no single one
  std::string evidence;  // JSON
  std::string command;
};

struct FindingNotEvaluated {
  const FindingRule* rule = nullptr;
  std::string run;
  std::vector<TraceMetric> missing;
  int64_t devices = 0;  // of how many; of a run: 0
};

class TraceFindings {
 public:
  // Asks the rules of devices. `metrics`: of that part.
  void AddPart(const AnalysisTraces& traces, size_t part, const PartTraceMetrics& metrics);
  // Asks the rules of runs. Call it behind all parts, once.
  void Close();

  // The largest gains first. Complete after Close.
  const std::vector<TraceFinding>& findings() const { return findings_; }
  const std::vector<FindingNotEvaluated>& not_evaluated() const { return not_evaluated_; }

 private:
  struct RankLoad {
    int64_t compute_ns = 0;
    int64_t whole_ns = 0;
  };
  struct RunLoad {
    std::map<int64_t, RankLoad> ranks;
    bool has_devices = false;
  };

  // `of`: null for a rule of runs. `is_one_of_many`: its part has several devices.
  void Ask(const FindingRule& rule, const TraceMetrics& metrics, const std::string& run, std::optional<int64_t> rank,
           const DeviceTraceMetrics* of, bool is_one_of_many);
  void AddNotEvaluated(const FindingRule& rule, std::vector<TraceMetric> missing, const std::string& run,
                       int64_t devices);

  std::vector<TraceFinding> findings_;
  std::vector<FindingNotEvaluated> not_evaluated_;
  std::map<std::string, RunLoad> runs_;
};

// Calls `see` with the metrics of each part that the scope asks for. A rank that is broken is named in a trust reason,
// and the others answer; a note says which parts have no launches, and which no kernels. `ran_elsewhere`: a device ran
// that is in none of these parts, so that to have no kernels means nothing.
Status ForEachPartMetrics(const AnalysisTraces& traces, const DeviceScope& scope, bool ran_elsewhere,
                          const StopSignal& stop, AnalysisAnswer& answer,
                          const std::function<Status(size_t part, PartTraceMetrics& metrics)>& see);

}  // namespace kprof
