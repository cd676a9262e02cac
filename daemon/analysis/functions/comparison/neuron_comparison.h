// Two sides of a comparison as Neuron devices saw them: for each rank the figures of its device profile and those of
// its runtime's trace, before and after.
//
// One thread, that of the readers. Costs a pass over the rows of the profiles and one over the events of the traces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/comparison/compared_sides.h"
#include "storage/base/status.h"

namespace kprof {

struct ComparedNeuronFigure {
  std::optional<int64_t> rank;
  std::string what;  // "execution", "tensor engine active", "idle"
  const char* unit = "";
  OfSides<std::optional<double>> values;  // of several runs the mean; nothing: that side does not have it
};

// By rank; nothing: neither side has traces of a Neuron device. Fails as reading does.
Result<std::vector<ComparedNeuronFigure>> CompareNeuron(const OfSides<ComparedSide>& sides, const StopSignal& stop);

}  // namespace kprof
