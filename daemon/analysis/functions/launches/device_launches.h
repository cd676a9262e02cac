// The work of a part's devices and the calls of the host that launched it, which have its correlation. Asked from the
// work, it is DeviceLaunches: the call of each slice. Asked from the calls, it is LaunchedWork: the slices of each
// call. Whoever needs all calls, also those that launched nothing, has calls_and_work.h.
//
// On the reader's thread. Each costs a pass over the columns that select device work, and over the correlations of the
// host. Memory is asked of the traces' take_memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct HtaClock;

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

// Exact, or with the rows and times of HolisticTraceAnalysis (option window). Memory: 72 bytes for each slice of the
// devices and 40 for each call.
class DeviceLaunches {
 public:
  // The slices that the scope asks for, whole also where they reach beyond its time; calls at any time. `at_any_time`:
  // also slices before and after the scope's time (not under window=hta, where the time asked for cuts the trace).
  static Result<DeviceLaunches> Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                     const StopSignal& stop, bool at_any_time = false);

  // Track by track (under window=hta stream by stream) in the order of time.
  const std::vector<DeviceSlice>& slices() const { return slices_; }
  // Those that launched one of the slices; by correlation, then by time.
  const std::vector<PartSlice>& calls() const { return calls_; }
  // All calls with the correlation of that one, from it on.
  std::span<const PartSlice> CallsFrom(int64_t call) const;

 private:
  explicit DeviceLaunches(const AnalysisTraces& traces)
      : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}
  Status ReadExact(const TracePart& of, const EventFilter& filter, const StopSignal& stop);
  Status ReadHta(const AnalysisTraces& traces, size_t part, const DeviceScope& scope, const StopSignal& stop);
  // `clock`: HTA's; null: times are exact.
  Status ReadCalls(const TracePart& part, const HtaClock* clock, const StopSignal& stop);

  std::unique_ptr<MemoryCharge> charge_;
  std::vector<DeviceSlice> slices_;
  std::vector<PartSlice> calls_;
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

struct LaunchedSlice {
  int64_t key = kNoValue;  // its correlation; or its External id; or nothing
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t name = 0;  // a string's number; not checked here
  uint32_t track = 0;

  int64_t length_ns() const { return end_ns - begin_ns; }
};

// Work whose launch is not in the trace (it was before the first slice, or launches were not recorded) is found by its
// External id. Memory: 56 bytes for each slice of the devices, and 8 for each slice of the host that has a correlation.
class LaunchedWork {
 public:
  // The work of the scope's device, at any time. Slices whose end is not known take no time.
  static Result<LaunchedWork> Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                   const StopSignal& stop);

  // The work that the launch of that correlation started, in the order of time.
  std::span<const LaunchedSlice> Of(int64_t correlation) const { return Find(launched_, correlation); }
  // Work without a launch in the trace, but with an External id: that of the operator that launched it.
  std::span<const LaunchedSlice> OfExternalId(int64_t id) const { return Find(with_id_, id); }
  bool has_external_ids() const { return !with_id_.empty(); }
  // Work with neither.
  std::span<const LaunchedSlice> without() const { return without_; }
  int64_t sum_ns() const { return sum_ns_; }
  int64_t slices() const { return slices_; }

 private:
  explicit LaunchedWork(const AnalysisTraces& traces) : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}
  static std::span<const LaunchedSlice> Find(const std::vector<LaunchedSlice>& sorted, int64_t key);

  std::unique_ptr<MemoryCharge> charge_;
  std::vector<LaunchedSlice> launched_;  // by key, then by time
  std::vector<LaunchedSlice> with_id_;
  std::vector<LaunchedSlice> without_;
  int64_t sum_ns_ = 0;
  int64_t slices_ = 0;
};

}  // namespace kprof
