// The dependencies of a part: its threads, the calls that launch work and wait for it, the work of its devices. What a
// trace says is taken (correlations, order on a stream, waits for events); docs/analyses/critical-path.md has the rules
// for what it does not say.
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: that of calls_and_work.h, and about 250
// bytes for each call, operator and piece of work. Fails as reading does.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/dependencies/dependency_graph.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/launches/calls_and_work.h"

namespace kprof {

class WorkDependencies {
 public:
  // Takes what begins in the time that the scope asks for, and work that was launched in it; where it asks for a time
  // (and not for a step) all ends with that. Nothing: no device worked.
  static Result<std::optional<WorkDependencies>> Read(const AnalysisTraces& traces, size_t part,
                                                      const DeviceScope& scope, const StopSignal& stop);

  const DependencyGraph& graph() const { return *graph_; }
  const CallsAndWork& work() const { return *work_; }
  MemoryCharge& charge() { return work_->charge(); }

  // The subject of a dependency: of kind device, stream, graph, event and launch it is an index of work().work(); of
  // kind sync one of work().calls(); of kinds host and thread the track of the thread; of kind start nothing.

  int64_t unlaunched() const { return unlaunched_; }          // work whose launch is not in the trace
  int64_t assumed_events() const { return assumed_events_; }  // waits of streams that only order and times tell
  int64_t unknown_events() const { return unknown_events_; }  // waits of streams, and nothing tells for what

 private:
  friend class DependencyMaker;
  WorkDependencies() = default;

  std::unique_ptr<CallsAndWork> work_;
  std::unique_ptr<DependencyGraph> graph_;
  int64_t unlaunched_ = 0;
  int64_t assumed_events_ = 0;
  int64_t unknown_events_ = 0;
};

}  // namespace kprof
