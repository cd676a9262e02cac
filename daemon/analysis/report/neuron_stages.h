// The stages of a run whose trace is of a Neuron device: of a device profile its engines, of a runtime's trace the
// kernels that were executed. Also what bounds it, and why.
//
// One thread, that of the parts.
#pragma once

#include "daemon/analysis/report/report.h"
#include "daemon/analysis/report/reported_run.h"
#include "storage/base/status.h"

namespace kprof {

// True for traces that have one of the two.
bool HasNeuronTrace(const AnalysisTraces& traces);

// Fills `stages`, `measured_ns`, `execution_ns`, `bottleneck`, `root_cause` and an empty `kernel`, and adds notes.
// Where there are both, the device profile says what bounds it. Fails as the analyses do.
Status AddNeuronStages(const ReportedRun& of, const StopSignal& stop, Report& report);

}  // namespace kprof
