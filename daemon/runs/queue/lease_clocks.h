// The clocks of the devices that a session or a single run holds, locked as its policy says: with the words of trust
// for what is not, or not quite.
//
// Io loop only. Nothing blocks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/runs/run_context.h"
#include "storage/base/status.h"
#include "storage/catalog/run_row.h"

namespace kprof {

// Fails with kUsage where a policy with a `!` cannot be kept, whatever the devices.
Status CheckClocks(const RunContext& context, const std::string& policy, const std::string& act);

// What makes less believable what is measured on these devices: clocks that one before has locked, and that could not
// be given back yet.
std::vector<TrustReason> ClocksNotGivenBack(const RunContext& context, const std::vector<std::string>& device_ids);

// That what was held on a device was not for a while.
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

// `released` is called once, likewise: when the devices are as they were, or are being seen to.
void ReleaseClocks(const RunContext& context, const ClockWish& wish, std::function<void()> released);

}  // namespace kprof
