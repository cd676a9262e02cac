// Locks the clocks of the devices that a session or a single run holds, as its policy says, and gives the reasons of
// trust for clocks that are not locked, or not quite.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Fails with kUsage for a text that is no policy, and for a policy with a `!` where this kprofd locks no clocks.
Status CheckClocks(const RunContext& context, const std::string& policy, const std::string& act);

// Reasons to doubt what is measured on these devices: clocks that an earlier lease locked, and that could not be given
// back yet.
std::vector<TrustReason> ClocksNotGivenBack(const RunContext& context, const std::vector<std::string>& device_ids);

// The reason that a device's clocks were not held for a while.
TrustReason ClocksLost(const std::string& device_id, const Status& why);

struct ClockWish {
  std::vector<std::string> devices;
  std::string policy;
  std::string holder;  // for people: "session 01hx3m5q"
};

struct ClocksTaken {
  std::vector<TrustReason> trust;
  Status refused;  // of a policy with a `!`: why the holder must not go on
};

// `taken` is called once: at once where there is nothing to lock, else from the loop.
void LockClocks(const RunContext& context, const ClockWish& wish, std::function<void(const ClocksTaken&)> taken);

// `released` is called once, likewise: when the devices are as they were, or what could not be given back is being
// tried again.
void ReleaseClocks(const RunContext& context, const ClockWish& wish, std::function<void()> released);

}  // namespace kprof
