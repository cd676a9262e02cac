// The calls of the host that waited for work of a device, and for which: by their names, what had been launched before,
// and what ended while they waited. docs/analyses/critical-path.md has the rules.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/analysis/functions/dependencies/chosen_work.h"

namespace kprof {

struct DeviceWaits {
  std::vector<uint32_t> wait_for;                             // by call, the work that it waited for; or kNoIndex
  std::unordered_multimap<uint32_t, uint32_t> also_wait_for;  // by call, work of other streams that had ended before
  int64_t return_ns = 0;                                      // the usual time from the end of work to that of the call
};

DeviceWaits FindDeviceWaits(const ChosenWork& chosen);

}  // namespace kprof
