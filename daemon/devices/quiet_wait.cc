#include "daemon/devices/quiet_wait.h"

#include <algorithm>
#include <utility>

#include "daemon/devices/foreign_processes.h"

namespace kprof {
namespace {

constexpr int64_t kAnswerLimitNs = 2 * kNanosPerSecond;
// Neuron's tools are programs, and tell every few seconds.
constexpr int64_t kToolsAnswerLimitNs = 5 * kNanosPerSecond;
// What a device told so long before it was asked counts: who asks while others wait is answered with them.
constexpr int64_t kNewsNs = kAnswerLimitNs;
constexpr int64_t kToolsNewsNs = 7 * kNanosPerSecond;

bool IsToldByTools(const NodeDevices& devices, const std::vector<std::string>& ids) {
  return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) {
    const Result<DeviceFacts> facts = devices.FactsOf(id);
    return facts.ok() && facts->neuron;
  });
}

}  // namespace

QuietWait::QuietWait(IoLoop& loop, NodeDevices& devices, UserNames& users, Wish wish, Done done)
    : loop_(loop),
      devices_(devices),
      users_(users),
      wish_(std::move(wish)),
      done_(std::move(done)),
      since_mono_ns_(loop.clock().mono_ns()) {
  KPROF_ON_IO_LOOP(loop_);
  again_ = loop_.After(0, [this] { Ask(); });
}

void QuietWait::Ask() {
  asked_mono_ns_ = loop_.clock().mono_ns();
  const int64_t limit_ns = IsToldByTools(devices_, wish_.device_ids) ? kToolsAnswerLimitNs : kAnswerLimitNs;
  devices_.Refresh(limit_ns, [this, alive = std::weak_ptr<bool>(is_alive_)] {
    if (!alive.expired()) Look();
  });
}

void QuietWait::Look() {
  who_.clear();
  for (const std::string& id : wish_.device_ids) {
    const Result<std::string> who = WhoIsOn(id);
    if (!who.ok()) return Finish(who.status());
    if (!who->empty()) who_ += (who_.empty() ? "" : "; ") + *who + " on device " + id;
  }
  if (who_.empty()) return Finish(OkStatus());
  const int64_t left_ns = since_mono_ns_ + wish_.limit_ns - loop_.clock().mono_ns();
  if (left_ns > 0) {
    again_ = loop_.After(std::min(left_ns, wish_.period_ns), [this] { Ask(); });
    return;
  }
  const std::string after =
      wish_.limit_ns > 0 ? ", after " + std::to_string(wish_.limit_ns / kNanosPerSecond) + " s still" : "";
  Finish(Fail(ErrorCode::kQueueTimeout, "wait for quiet devices", who_ + after,
              "have that end, or measure beside it, which the run's trust then says: leave out --exclusive"));
}

// One that does not answer may have anybody on it.
Result<std::string> QuietWait::WhoIsOn(const std::string& device_id) {
  ASSIGN_OR_RETURN(const DeviceFacts facts, devices_.FactsOf(device_id));
  const bool is_asked = facts.nvidia || facts.neuron;
  if (facts.health != DeviceHealth::kOk && is_asked) return "nobody knows who (" + facts.trouble.why() + ")";
  const bool has_news = facts.nvidia_sample && facts.nvidia_sample->mono_ns >= asked_mono_ns_ - kNewsNs;
  if (facts.nvidia && !has_news) return std::string("nobody knows who (it does not answer)");
  if (facts.neuron && facts.neuron->users_mono_ns < asked_mono_ns_ - kToolsNewsNs) {
    return std::string("nobody knows who (neither neuron-ls nor neuron-monitor tells now)");
  }
  return WhoIsThere(FindForeign(facts, wish_.is_own), users_);
}

void QuietWait::Finish(Status status) {
  if (const Done done = std::exchange(done_, nullptr)) done(std::move(status));
}

}  // namespace kprof
