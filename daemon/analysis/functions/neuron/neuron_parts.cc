#include "daemon/analysis/functions/neuron/neuron_parts.h"

#include <string>
#include <vector>

#include "storage/trace/format/neuron_device_tables.h"
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
    const TracePart& part = traces.parts()[i];
    if (part.reader->TextFact(kNeuronProfileFact) || IsNeuronRuntimePart(part)) continue;
    parts.push_back(traces.parts()[i]);
    runs.push_back(traces.run(i));
  }
  return traces.Of(parts, runs);
}

TracesByRun SplitByRun(const AnalysisTraces& traces, const std::string& names) {
  const std::string wanted = "," + names + ",";
  std::vector<TracePart> parts[2];
  std::vector<std::string> runs[2];
  for (size_t i = 0; i < traces.parts().size(); ++i) {
    const size_t is_named = wanted.find("," + traces.run(i) + ",") != wanted.npos ? 1 : 0;
    parts[is_named].push_back(traces.parts()[i]);
    runs[is_named].push_back(traces.run(i));
  }
  return {traces.Of(parts[1], runs[1]), traces.Of(parts[0], runs[0])};
}

}  // namespace kprof
