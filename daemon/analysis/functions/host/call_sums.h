// The calls of a part's host, added up: how often each operator, module and Python frame was called, how long it took,
// and how long the work of the devices took that it launched; the same by the operators' shapes, and as a tree.
//
// On the reader's thread. Costs LaunchedWork, a pass over the slices of the host (host_calls.h) and one over the
// arguments of operators. Memory, which the traces' take_memory is asked for: that of its parts, and about 120 bytes
// for each name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/device_scope.h"
#include "daemon/analysis/functions/host/call_tree.h"
#include "daemon/analysis/functions/host/operator_shapes.h"
#include "daemon/analysis/functions/launches/device_launches.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

// Calls of one name.
struct CallSum {
  int64_t name = 0;  // a string's number
  int64_t count = 0;
  int64_t host_ns = 0;       // a call within one of its own name adds nothing: here, to device_ns and to kernels
  int64_t self_host_ns = 0;  // without calls of its table that are within it
  int64_t device_ns = 0;
  int64_t self_device_ns = 0;  // launched by it, and by no call of its table within it
  int64_t kernels = 0;
  CostSum cost;
};

// Each role has a table of its own: what an operator did itself is that without operators within it, and may be in
// Python frames.
enum CallTable : size_t { kOperatorCalls, kModuleCalls, kFrameCalls, kCallTables };

struct PartCallSums {
  std::unique_ptr<MemoryCharge> charge;
  LaunchedWork work;
  OperatorShapes shapes;
  CallTree tree;
  std::array<std::vector<CallSum>, kCallTables> tables;
  int64_t of_operators_ns = 0;  // device time of what was launched within an operator
  int64_t of_calls_ns = 0;      // the same within any call
};

// Counts calls that begin in the scope's time. Fails as reading does, and as take_memory.
Result<PartCallSums> SumCalls(const AnalysisTraces& traces, size_t part, const DeviceScope& scope,
                              const StopSignal& stop);

}  // namespace kprof
