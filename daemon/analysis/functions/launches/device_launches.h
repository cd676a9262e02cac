// The work of a part's devices, each slice with the call of the host that launched it (by correlation): exact, or with
// the rows and times of HolisticTraceAnalysis (option window).
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: 72 bytes for each slice of the devices
// and 40 for each call. Costs a pass over the columns that select device work, and over the correlations of the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct HtaClock;

struct LaunchCall {
  int64_t correlation = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known
  int64_t name = 0;    // a string's number, as below
  uint32_t track = 0;
};

struct DeviceSlice {
  static constexpr int64_t kNoCall = -1;

  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // begin_ns where it is not known; under window=hta it may be 1,000 less
  int64_t name = 0;
  int64_t correlation = kNoValue;
  int64_t call = kNoCall;  // the first of its correlation, by its place in calls()
  int64_t place = 0;       // of all slices of the part
  int64_t stream = -1;     // -1: not known
  uint32_t track = 0;
  bool is_operation = true;  // false: one of HTA's rows that its idle times leave out

  int64_t length_ns() const { return end_ns - begin_ns; }
};

class DeviceLaunches {
 public:
  // The slices that the scope asks for, whole also where they reach beyond its time; calls at any time. `at_any_time`:
  // also slices before and after the scope's time (not under window=hta, where the time asked for cuts the trace).
  static Result<DeviceLaunches> Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                     const StopSignal& stop, bool at_any_time = false);

  // Track by track (under window=hta stream by stream) in the order of time.
  const std::vector<DeviceSlice>& slices() const { return slices_; }
  // Those that launched one of the slices; by correlation, then by time.
  const std::vector<LaunchCall>& calls() const { return calls_; }
  // All calls with the correlation of that one, from it on.
  std::span<const LaunchCall> CallsFrom(int64_t call) const;

 private:
  explicit DeviceLaunches(const AnalysisTraces& traces)
      : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}
  Status ReadExact(const TracePart& of, const EventFilter& filter, const StopSignal& stop);
  Status ReadHta(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop);
  // `clock`: HTA's; null: times are exact.
  Status ReadCalls(const TracePart& part, const HtaClock* clock, const StopSignal& stop);

  std::unique_ptr<MemoryCharge> charge_;
  std::vector<DeviceSlice> slices_;
  std::vector<LaunchCall> calls_;
};

// The sum, within the bounds of the type: lengths under window=hta may be negative, and a hostile part may have any.
constexpr int64_t AddLength(int64_t sum_ns, int64_t length_ns) {
  int64_t result = 0;
  if (!__builtin_add_overflow(sum_ns, length_ns, &result)) return result;
  return length_ns < 0 ? INT64_MIN : INT64_MAX;
}

// The lists of slices that lie on one track (under window=hta on one stream), by device and stream; each in the order
// of time.
std::vector<std::span<const DeviceSlice>> ByStream(const DeviceLaunches& read, const PartReader& reader, bool is_hta);

}  // namespace kprof
