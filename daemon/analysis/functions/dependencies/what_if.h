// How long a part would take if some of it were faster: its dependencies with other lengths.
//
// On the reader's thread. Each question costs a pass over the dependencies; one about slices also a pass over the names
// of the slices of threads. Memory: 8 bytes for each dependency; slices, which the traces' take_memory is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/dependencies/dependency_graph.h"
#include "daemon/analysis/functions/dependencies/work_dependencies.h"
#include "daemon/analysis/functions/launches/calls_and_work.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// Slices of a name take a `factor`th of their time.
struct WhatIfChange {
  std::string name;  // of a kernel, an operator or a function; * and ? match any where nothing is called so
  double factor = 1;
};

// Reads "NAME=FACTOR;NAME=FACTOR". Fails with kUsage for other text, and for a factor that is not above 0.
Result<std::vector<WhatIfChange>> ReadChanges(const std::string& text);

class WhatIf {
 public:
  // All of them must outlive it.
  WhatIf(const AnalysisTraces& traces, size_t part, const WorkDependencies& dependencies);

  // How long all takes as recorded.
  int64_t total_ns() const { return total_ns_; }
  // How long all would take without any time of that kind.
  int64_t BoundOf(DependencyKind kind) const;

  struct Prediction {
    bool is_found = false;   // a slice has such a name
    int64_t changed = 0;     // slices that it is about
    int64_t changed_ns = 0;  // their time, as recorded
    int64_t total_ns = 0;
  };
  Result<Prediction> Predict(std::span<const WhatIfChange> changes, const StopSignal& stop) const;

  // How long all would take if the slices of one of these names took a `factor`th of their time, for each name alone.
  Result<std::vector<int64_t>> PredictEach(std::span<const int64_t> names, double factor, const StopSignal& stop) const;

 private:
  // The times in which slices are open.
  struct HostTimes {
    std::unordered_map<uint32_t, std::vector<Interval>> of_tracks;
    int64_t slices = 0;
    int64_t ns = 0;
  };

  const DependencyGraph& graph() const { return dependencies_.graph(); }
  int64_t TotalWith(const std::vector<int64_t>& lengths) const;
  // The numbers of this name, or of those that match it where nothing is called so.
  Result<std::set<int64_t>> FindNames(const std::string& name) const;
  // The slices of threads that have one of these names, by track and begin.
  Result<std::vector<PartSlice>> ReadHostSlices(const std::set<int64_t>& names, const StopSignal& stop,
                                                MemoryCharge& charge) const;
  // REQUIRES: SortByTrack.
  static HostTimes HostTimesOf(std::span<const PartSlice> slices);
  void Apply(const std::set<int64_t>& names, double factor, const HostTimes& of_host, std::vector<int64_t>& lengths,
             Prediction& prediction) const;

  const AnalysisTraces& traces_;
  const size_t part_;
  PartReader& reader_;
  const WorkDependencies& dependencies_;
  const std::vector<int64_t> lengths_;  // as recorded
  const int64_t total_ns_;
};

}  // namespace kprof
