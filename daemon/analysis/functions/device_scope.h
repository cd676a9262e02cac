// The scope of an analysis of devices, from the options kTraceScope and kWindow: which slices of each part are work of
// a device, and in which time.
//
// On the readers' thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/kernel_types.h"
#include "daemon/analysis/operators/event_filter.h"
#include "daemon/analysis/operators/interval_sweep.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/status.h"

namespace kprof {

// A step of a training loop as PyTorch's profiler marks it: slices called ProfilerStep#N.
struct ProfilerStep {
  int64_t number = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known
};

// The steps of a part, by their numbers. Several slices of one step (of threads, or of a device, which lags) are one
// step, from the first begin to the last end; the slices of the host count, if there are some. Costs a look at the
// part's strings, and a pass over the names of segments that may have a step.
Result<std::vector<ProfilerStep>> FindProfilerSteps(const TracePart& part, const StopSignal& stop);

// Making it costs little, unless a step is asked for: then as FindProfilerSteps does, for each part.
class DeviceScope {
 public:
  // Fails with kUsage for a step or a device that no part has, and as reading does. `traces` must outlive it.
  static Result<DeviceScope> Make(const AnalysisTraces& traces, const AnalysisOptions& options, const StopSignal& stop);

  // The choices of HolisticTraceAnalysis: hta_rows.h.
  bool is_hta() const { return is_hta_; }
  std::optional<int64_t> device() const { return device_; }
  // " on device 3", " in the time that is asked for", or both; empty if all devices are asked for, at all times.
  std::string TextOfBounds() const;
  // True: nothing of this part is asked for, as it does not have the step.
  bool never(size_t part) const { return times_[part].never; }
  std::optional<int64_t> from_ns(size_t part) const { return times_[part].from_ns; }
  std::optional<int64_t> to_ns(size_t part) const { return times_[part].to_ns; }
  // The end of the time asked for, whatever step is: work of a step may go on behind the step.
  std::optional<int64_t> cut_ns() const { return cut_ns_; }

  // Selects the work of devices in that part: slices on streams, without waits and annotations that are drawn over
  // them.
  EventFilter WorkOf(size_t part) const;
  // The same for work of one type, by TypeOfKernel.
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
  Status FindDevice(int64_t device) const;
  Status FindStep(int64_t number, const StopSignal& stop);

  const AnalysisTraces* traces_;
  bool is_hta_ = false;
  std::optional<int64_t> device_;
  bool is_all_time_ = true;
  std::optional<int64_t> cut_ns_;
  std::vector<Times> times_;  // of each part
};

}  // namespace kprof
