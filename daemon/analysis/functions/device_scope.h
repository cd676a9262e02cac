// What of each part an analysis of devices is about, as the options kTraceScope and kWindow say: which slices are work
// of a device, in which time.
//
// On the readers' thread. Finding a step costs what device_scope.h says.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

// The steps of a training loop as PyTorch's profiler marks them: slices called ProfilerStep#N.
//
// On the reader's thread. Costs a look at the part's strings, and a pass over the names of segments that may have one.
struct ProfilerStep {
  int64_t number = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known
};

// By their numbers. A step of which there are several slices (of threads; of a device, which lags) is one: that of the
// host, where there is one, from the first begin to the last end.
Result<std::vector<ProfilerStep>> FindProfilerSteps(const TracePart& part, const StopSignal& stop);

class DeviceScope {
 public:
  // Fails with kUsage for a step that no part has, and as reading does. `traces` must outlive it.
  static Result<DeviceScope> Make(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop);

  // The choices of HolisticTraceAnalysis: hta_rows.h.
  bool is_hta() const { return is_hta_; }
  std::optional<int64_t> device() const { return device_; }
  // Nothing of this part is asked for: it has not the step.
  bool never(size_t part) const { return times_[part].never; }
  std::optional<int64_t> from_ns(size_t part) const { return times_[part].from_ns; }
  std::optional<int64_t> to_ns(size_t part) const { return times_[part].to_ns; }

  // Work of devices in that part: slices on streams, without annotations that are drawn over them and waits.
  EventFilter WorkOf(size_t part) const;
  // The same of one type, by TypeOfKernel.
  EventFilter WorkOf(size_t part, KernelType type) const;
  // The time asked for, else from the begin of the part's first slice to the end of its last one.
  Interval WholeOf(size_t part) const;

 private:
  struct Times {
    bool never = false;
    std::optional<int64_t> from_ns;
    std::optional<int64_t> to_ns;
  };

  explicit DeviceScope(const AnalysisTraces& traces) : traces_(&traces) {}
  Status FindStep(int64_t number, const StopSignal& stop);

  const AnalysisTraces* traces_;
  bool is_hta_ = false;
  std::optional<int64_t> device_;
  std::vector<Times> times_;  // of each part
};

}  // namespace kprof
