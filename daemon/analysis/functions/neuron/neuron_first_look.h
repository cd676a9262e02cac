// A first look at a Neuron runtime's traces, in a sentence for each rank: how long its device ran, for which line, what
// it waited for, and which analyses tell more.
//
// One thread, that of the readers. Costs a pass over the events.
#pragma once

#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"

namespace kprof {

// The first eight ranks; a last sentence counts the others. Empty: no part has such a trace. Fails as reading does.
Result<std::vector<std::string>> LookAtNeuronRuntime(const AnalysisTraces& traces, const StopSignal& stop);

}  // namespace kprof
