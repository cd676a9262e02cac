#include "daemon/runs/queue/lease_clocks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/clocks/locks/clock_policy.h"
#include "daemon/clocks/locks/device_clocks.h"

namespace kprof {
namespace {

constexpr char kNotLocked[] = "clocks_not_locked";
constexpr char kNote[] = "clocks_note";

// What was stored was looked at before; what an older version stored and this one does not take locks nothing.
ClockPolicy PolicyOf(const ClockWish& wish) {
  Result<ClockPolicy> policy = ParseClockPolicy(wish.policy, "lock the clocks for " + wish.holder);
  return policy.ok() ? *policy : ClockPolicy();
}

// Devices without a clock that anybody could lock: nobody is to blame.
bool HaveNoClocks(const RunContext& context, const std::vector<std::string>& device_ids) {
  const std::shared_ptr<const DeviceList> list = context.devices.now();
  return std::all_of(device_ids.begin(), device_ids.end(), [&](const std::string& id) {
    return std::any_of(list->all().begin(), list->all().end(),
                       [&](const Device& device) { return device.id == id && device.kind == DeviceKind::kNeuron; });
  });
}

ClocksTaken TakenOf(const ClockPolicy& policy, const std::vector<DeviceClocks::Outcome>& outcomes) {
  ClocksTaken taken;
  for (const DeviceClocks::Outcome& outcome : outcomes) {
    const std::string device = "device " + outcome.device_id + ": ";
    for (const std::string& note : outcome.notes) taken.trust.push_back({kNote, device + note});
    if (outcome.why_not.ok()) continue;
    const std::string& remedy = outcome.why_not.remedy();
    taken.trust.push_back({kNotLocked, device + outcome.why_not.why() + (remedy.empty() ? "" : "; " + remedy)});
    if (policy.required && taken.refused.ok()) taken.refused = outcome.why_not;
  }
  return taken;
}

}  // namespace

Status CheckClocks(const RunContext& context, const std::string& policy, const std::string& act) {
  Result<ClockPolicy> parsed = ParseClockPolicy(policy, act);
  if (!parsed.ok()) return parsed.status();
  if (context.clocks != nullptr || !parsed->required) return OkStatus();
  return Fail(ErrorCode::kUsage, act, "clocks were to be locked or nothing, and this kprofd locks none",
              "leave the '!' out to go on unlocked");
}

std::vector<TrustReason> ClocksNotGivenBack(const RunContext& context, const std::vector<std::string>& device_ids) {
  std::vector<TrustReason> trust;
  for (const std::string& id : device_ids) {
    if (context.clocks == nullptr) break;
    const Status trouble = context.clocks->TroubleOf(id);
    if (trouble.ok()) continue;
    const std::string what = "what a lease before it locked could not be given back yet, and may be at any time";
    trust.push_back({"clocks_not_given_back", "device " + id + ": " + what + ": " + trouble.why()});
  }
  return trust;
}

TrustReason ClocksLost(const std::string& device_id, const Status& why) {
  return {"clocks_not_held", "device " + device_id + ": the clocks were not held for a while: " + why.why()};
}

void LockClocks(const RunContext& context, const ClockWish& wish, std::function<void(const ClocksTaken&)> taken) {
  const ClockPolicy policy = PolicyOf(wish);
  if (policy.mode == ClockPolicy::Mode::kNone) return taken({});
  if (context.clocks == nullptr && HaveNoClocks(context, wish.devices)) return taken({});
  if (context.clocks == nullptr) {
    const Status why = Fail(ErrorCode::kUsage, "lock the clocks", "this kprofd locks none", "ask for none");
    return taken({{{kNotLocked, "asked for '" + wish.policy + "': " + why.why()}}, policy.required ? why : OkStatus()});
  }
  context.clocks->Lock(wish.devices, {policy, wish.holder},
                       [policy, taken = std::move(taken)](const std::vector<DeviceClocks::Outcome>& outcomes) {
                         taken(TakenOf(policy, outcomes));
                       });
}

void ReleaseClocks(const RunContext& context, const ClockWish& wish, std::function<void()> released) {
  if (context.clocks == nullptr || PolicyOf(wish).mode == ClockPolicy::Mode::kNone) return released();
  context.clocks->Release(wish.devices, std::move(released));
}

}  // namespace kprof
