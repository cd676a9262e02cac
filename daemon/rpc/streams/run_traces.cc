#include "daemon/rpc/streams/run_traces.h"

namespace kprof {

Result<std::vector<TracePlace>> FindTrace(const Layout& layout, const RunRow& run, const std::string& act) {
  if (run.trace.empty()) {
    return Fail(ErrorCode::kUsage, act, "run " + run.id + " has no trace", "name one that has, or leave it out");
  }
  std::vector<TracePlace> places;
  for (const TracePartRow& part : run.trace) {
    places.push_back({run.id, part.name, layout.TracePartPath(run.id, part.name), part.rank});
  }
  return places;
}

}  // namespace kprof
