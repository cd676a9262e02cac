// The parts of traces that are of Neuron devices. Rules and sums about GPUs say nothing of them.
//
// One thread, that of the readers.
#pragma once

#include <string>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/operators/trace_part.h"

namespace kprof {

// True for a part with events or kernel calls of a Neuron runtime.
bool IsNeuronRuntimePart(const TracePart& part);

// The others. Parts of Neuron devices are device profiles and traces of a runtime.
AnalysisTraces WithoutNeuron(const AnalysisTraces& traces);

// The traces of runs that a text names, with commas between, and those of other runs.
struct TracesByRun {
  AnalysisTraces named;
  AnalysisTraces others;
};
TracesByRun SplitByRun(const AnalysisTraces& traces, const std::string& names);

}  // namespace kprof
