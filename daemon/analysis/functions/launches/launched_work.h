// The work of a part's devices by the launches that started it: by correlation, and by External id where the trace has
// no slice of the launch (it was before the first one, or launches were not recorded).
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: 56 bytes for each slice of the devices,
// and 8 for each slice of the host that has a correlation. Costs a pass over both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct LaunchedSlice {
  int64_t key = kNoValue;  // its correlation; or its External id; or nothing
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t name = 0;  // a string's number; not checked here
  uint32_t track = 0;

  int64_t length_ns() const { return end_ns - begin_ns; }
};

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
