// What of each part an analysis of devices is about, as the options kTraceScope and kWindow say: which slices are work
// of a device, in which time.
//
// On the readers' thread. Finding a step costs what profiler_steps.h says.
#pragma once

#include <optional>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"

namespace kprof {

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
