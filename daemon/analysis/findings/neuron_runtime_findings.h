// The findings of a Neuron runtime's traces: rules over the idle time of each rank's device, and over how complete its
// trace is. A rule is a row in the .cc; docs/analyses/findings.md has a row for it.
//
// One thread, that of the readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"

namespace kprof {

struct NeuronRuntimeFinding {
  std::string run;
  std::optional<int64_t> rank;
  const char* code = "";
  std::string message;
  std::string evidence;  // JSON, as EvidenceOf has it
  const char* hint = "";
  const char* source = "";
  std::string command;
  int64_t gain_ns = 0;
  int64_t whole_ns = 0;
};

// Fails as reading does. Parts without such a trace have none.
Result<std::vector<NeuronRuntimeFinding>> FindNeuronRuntimeFindings(const AnalysisTraces& traces,
                                                                    const StopSignal& stop);

// How many times longer calls of the runtime take in `traces` than in those of the same program without a profiler of
// the CPU. Nothing: one of the two has none.
Result<std::optional<double>> FindHostInflation(const AnalysisTraces& traces, const AnalysisTraces& without,
                                                const StopSignal& stop);

}  // namespace kprof
