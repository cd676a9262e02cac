// Writes a profile of Scalene with the time of Neuron devices and of their runtime beside each line: Scalene's own
// profile where the run has one, else a profile of kernels alone. The keys are those of the tools that merged both
// until now, so that their viewers show them; docs/exports.md has them, and where the values differ.
//
// Blocks; one thread. Memory: the profile, and what the attribution of events takes (neuron_events.h).
#pragma once

#include <span>

#include "daemon/exports/trace_export.h"
#include "storage/base/status.h"

namespace kprof {

// Fails as the parts do, as the sink does, with kCancelled, and with kUsage for parts that have neither a profile of
// Scalene nor calls or events of a Neuron runtime.
Status ExportScalene(std::span<const ExportPart> parts, const ExportSink& sink, const ExportWatch& watch);

}  // namespace kprof
