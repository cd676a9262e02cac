#include "daemon/analysis/functions/neuron/neuron_parts.h"

#include <string>
#include <vector>

#include "daemon/analysis/functions/neuron/device_profile.h"
#include "storage/trace/format/neuron_tables.h"

namespace kprof {

bool IsNeuronRuntimePart(const TracePart& part) {
  return part.reader->FindSideTable(NeuronEventSideTable().name) != nullptr ||
         part.reader->FindSideTable(NeuronCallSideTable().name) != nullptr;
}

AnalysisTraces WithoutNeuron(const AnalysisTraces& traces) {
  std::vector<TracePart> parts;
  std::vector<std::string> runs;
  for (size_t i = 0; i < traces.parts().size(); ++i) {
    if (IsDeviceProfile(traces.parts()[i]) || IsNeuronRuntimePart(traces.parts()[i])) continue;
    parts.push_back(traces.parts()[i]);
    runs.push_back(traces.run(i));
  }
  return traces.Of(parts, runs);
}

}  // namespace kprof
