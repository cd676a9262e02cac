// A first look at a Neuron runtime's traces, for each rank: how long its device ran, for which line, what it waited
// for, and which analyses tell more; as numbers, and as a sentence.
//
// One thread, that of the readers. Costs a pass over the events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "storage/base/status.h"

namespace kprof {

struct NeuronRuntimeLook {
  std::string run;
  std::optional<int64_t> rank;
  int64_t cores = 0;               // whose executions have a place in time
  std::optional<int64_t> wall_ns;  // of all cores, added up; nothing: no execution is in the trace
  std::optional<int64_t> busy_ns;  // of all cores, added up; nothing: when executions ran is not known
  int64_t executions = 0;
  int64_t nc_ns = 0;
  int64_t nrt_ns = 0;
  std::string reading;       // sync, async, undecidable
  std::string reading_says;  // for people: NeuronLines::ReadingOfAll
  // The line that has most of the device's time.
  std::string kernel;
  std::string file;
  std::optional<int64_t> line;
  std::optional<double> line_percent;
  std::string idle_cause;
  std::optional<double> idle_percent;
  std::string says;
  std::string command;
};
struct NeuronRuntimeLooks {
  std::vector<NeuronRuntimeLook> ranks;  // the first eight
  size_t left_out = 0;
};

// Nothing: no part has such a trace. Fails as reading does.
Result<NeuronRuntimeLooks> LookAtNeuronRuntime(const AnalysisTraces& traces, const StopSignal& stop);

}  // namespace kprof
