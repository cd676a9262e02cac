// The communication of a run as it is read: of each rank its calls, in one time, its loads and its node.
//
// Traces and logs of NCCL Inspector tell of the same collectives: only one of the two counts. Logs do where they are of
// more ranks, or where the traces have no communication.
//
// On the readers' thread. Costs what communication_calls.h costs, and for each part a pass over the compute kernels.
// Memory, which is asked for: that of the calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/analysis/analysis_kind.h"
#include "daemon/analysis/functions/communication/communication_calls.h"
#include "daemon/analysis/functions/communication/matched_collectives.h"
#include "daemon/analysis/functions/communication/step_loads.h"
#include "daemon/analysis/functions/device_scope.h"
#include "storage/base/memory_charge.h"
#include "storage/base/status.h"

namespace kprof {

struct RunCommunication {
  std::vector<Communicator> ranks;
  std::vector<std::vector<StepLoads>> loads;  // of each: of its parts
  std::vector<std::string> hosts;             // of each: the node; empty: not known
  int64_t world_size = 0;                     // 0: no part says it
  size_t communicating = 0;                   // ranks with a communication kernel
  std::optional<int64_t> ranks_per_node;      // as the caller says
  bool are_devices = false;                   // a number is a device: its part has no rank, or several devices
  bool have_groups = false;
  bool have_bases = true;  // all parts know the time of their base
};

// `parts`: of one run, by rank; their times count from the first base. `ranks_per_node`: nodes are made of so many
// ranks; nothing: they are those that the traces name. Notes say what is left out; a part that is broken is left out
// with a reason of trust, unless it is the only one. Fails as reading does, and as `charge`.
Result<RunCommunication> ReadRunCommunication(const AnalysisTraces& traces, std::span<const size_t> parts,
                                              const DeviceScope& scope, std::optional<int64_t> ranks_per_node,
                                              const StopSignal& stop, TextNumbers& texts, MemoryCharge& charge,
                                              AnalysisAnswer& answer);

// "0, 3 to 7".
std::string ListOfNumbers(const std::set<int64_t>& numbers);

}  // namespace kprof
