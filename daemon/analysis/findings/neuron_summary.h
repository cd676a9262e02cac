// The summary's part about Neuron devices: tables of device profiles, of their longest lines and of runtimes' traces;
// and the findings of both with the largest gains.
//
// One thread, that of the readers. Costs what neuron_findings.h and the first looks do.
#pragma once

#include <cstddef>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"

namespace kprof {

// In their order: neuron_profiles, neuron_top, neuron_runtime.
std::vector<AnalysisTable> NeuronSummaryTables();

// `first` is the number of the first of these tables, `findings` that of the table of findings. Fails as reading does.
Status AddNeuronSummary(const AnalysisTraces& traces, const StopSignal& stop, size_t first, size_t findings,
                        AnalysisAnswer& answer);

}  // namespace kprof
