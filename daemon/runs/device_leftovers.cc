#include "daemon/runs/device_leftovers.h"

#include <algorithm>

#include "daemon/base/log.h"
#include "daemon/runs/run_end.h"

namespace kprof {

void DeviceLeftovers::Note(const RunRow& ended) {
  const bool may_live_on = std::any_of(ended.trust.begin(), ended.trust.end(),
                                       [](const TrustReason& reason) { return reason.code == kProcessesUnkillable; });
  if (!may_live_on) return;
  for (const std::string& device : ended.devices) left_by_[device] = ended.id;
}

void DeviceLeftovers::Tell(RunRow& row) {
  for (const std::string& device : row.devices) {
    auto left = left_by_.extract(device);
    if (left.empty()) continue;
    // Of which run is not for everybody to know; the log says it.
    LogWarning("processes of an earlier run may use a device", {{"earlier", left.mapped()}, {"run", row.id}});
    row.trust.push_back(
        {"device_shared", "processes of the run before it could not be ended, and may have used device " + device +
                              " at the same time"});
  }
}

}  // namespace kprof
