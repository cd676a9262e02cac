// The operator and the nn.Module of a launch: the innermost slices around its begin on its thread.
//
// On the reader's thread. Costs a pass over names and categories of the host's slices, and a sort of operators and
// modules. Memory, which is asked for: 40 bytes for each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/analysis/functions/launches/device_launches.h"
#include "daemon/analysis/operators/trace_part.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct LaunchContext {
  std::optional<int64_t> operator_name;  // strings' numbers; nothing: there is none. See NameOfCall
  std::optional<int64_t> module_name;    // with its "nn.Module: "
};

// One for each call, in their order. Fails as reading columns does.
Result<std::vector<LaunchContext>> FindLaunchContexts(const TracePart& part, std::span<const PartSlice> calls,
                                                      const TakeMemory& take_memory, const StopSignal& stop);

}  // namespace kprof
