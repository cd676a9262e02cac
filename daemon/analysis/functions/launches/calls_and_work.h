// All calls of a part's device APIs and all work of its devices, at any time, track by track: what annotations and
// dependencies are made of. A piece of work knows the call that launched it, which has its correlation; a graph's
// launch has hundreds of kernels. Only launches, within what a question asks for, are in device_launches.h.
//
// On the reader's thread. Memory, which the traces' take_memory is asked for: 48 bytes for each call, 48 for each piece
// of work. Costs a pass over the columns that select calls and work, and over their own. Fails as reading does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/operators/slice_columns.h"
#include "storage/base/memory_charge.h"

namespace kprof {

class CallsAndWork {
 public:
  static constexpr uint32_t kNoCall = UINT32_MAX;

  // All of the part, whatever time the scope asks for; of its device, if it asks for one.
  static Result<CallsAndWork> Read(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                                   const StopSignal& stop);

  // Both as SortByTrack sorts them.
  const std::vector<PartSlice>& calls() const { return calls_; }
  const std::vector<PartSlice>& work() const { return work_; }
  // An index of calls(), or kNoCall: its launch is not in the trace.
  uint32_t call_of(size_t work) const { return call_of_[work]; }
  // Whatever ends later ends at that time, unless it begins later, too.
  void CutAt(int64_t time_ns);
  // Give the vectors that are made beside these to it.
  MemoryCharge& charge() { return *charge_; }

 private:
  explicit CallsAndWork(const AnalysisTraces& traces) : charge_(std::make_unique<MemoryCharge>(traces.take_memory())) {}
  Status FindCalls();

  std::unique_ptr<MemoryCharge> charge_;
  std::vector<PartSlice> calls_;
  std::vector<PartSlice> work_;
  std::vector<uint32_t> call_of_;
};

}  // namespace kprof
