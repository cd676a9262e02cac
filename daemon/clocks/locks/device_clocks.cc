#include "daemon/clocks/locks/device_clocks.h"

#include <utility>

#include "daemon/clocks/locks/clock_policy.h"

namespace kprof {
namespace {

std::string Locking(const std::string& device_id) {
  return "lock the clocks of device " + device_id;
}

}  // namespace

DeviceClocks::DeviceClocks(IoLoop& loop, ClockLink::Settings settings, NodeDevices& devices)
    : loop_(loop), settings_(std::move(settings)), devices_(devices) {}

void DeviceClocks::Begin(const std::vector<std::string>& held_uuids) {
  for (const std::string& uuid : held_uuids) {
    DeviceOf(uuid).link->GiveBackLeft();
  }
}

DeviceClocks::OneDevice& DeviceClocks::DeviceOf(const std::string& uuid) {
  OneDevice& device = by_uuid_[uuid];
  if (device.link) return device;
  ClockLink::Events events;
  events.lost = [this, uuid](const Status& why) {
    if (on_lost) on_lost(IdOf(uuid), why);
  };
  events.given_up = events.lost;
  device.link = std::make_unique<ClockLink>(loop_, settings_, uuid, std::move(events));
  return device;
}

Result<KeeperLock> DeviceClocks::RequestFor(const std::string& device_id, const Wish& wish) const {
  ASSIGN_OR_RETURN(const DeviceFacts facts, devices_.FactsOf(device_id));
  const std::string act = Locking(device_id);
  if (facts.kind == DeviceKind::kCpu) {
    return Fail(ErrorCode::kUsage, act, "kprofd locks no clocks of processors",
                "see kprofctl doctor for their governor and turbo");
  }
  if (!facts.nvidia) {
    if (!facts.trouble.ok()) return facts.trouble.In(act);
    return Fail(ErrorCode::kToolMissing, act, "no driver tells of clocks that it has", "see kprofctl devices");
  }
  if (facts.health != DeviceHealth::kOk) return facts.trouble.In(act);
  KeeperLock request;
  request.holder = wish.holder;
  request.wanted.persistence = true;
  request.wanted.memory_mhz = wish.policy.memory_mhz;
  if (wish.policy.power_w) request.wanted.power_limit_mw = *wish.policy.power_w * 1000;
  switch (wish.policy.mode) {
    case ClockPolicy::Mode::kNone:
      break;
    case ClockPolicy::Mode::kBase:
      request.wanted.sm_mhz = 0;
      break;
    case ClockPolicy::Mode::kFixed:
      RETURN_IF_ERROR(CheckOffered(wish.policy.sm_mhz, facts.nvidia->sm_clocks_mhz, act));
      request.wanted.sm_mhz = wish.policy.sm_mhz;
      break;
    case ClockPolicy::Mode::kLock: {
      const std::optional<uint32_t> mhz = SustainableClock(*facts.nvidia);
      if (!mhz) return Fail(ErrorCode::kToolMissing, act, "its driver does not tell which clocks it offers");
      request.wanted.sm_mhz = mhz;
      break;
    }
  }
  if (wish.policy.memory_mhz)
    RETURN_IF_ERROR(CheckOffered(*wish.policy.memory_mhz, facts.nvidia->memory_clocks_mhz, act));
  request.required = wish.policy.required;
  return request;
}

void DeviceClocks::Lock(const std::vector<std::string>& device_ids, Wish wish, Locked locked) {
  KPROF_ON_IO_LOOP(loop_);
  struct Waiting {
    std::vector<Outcome> outcomes;
    size_t owed = 0;
    Locked locked;
  };
  auto waiting = std::make_shared<Waiting>();  // shared by the answers that are owed
  waiting->outcomes.resize(device_ids.size());
  waiting->owed = device_ids.size() + 1;
  waiting->locked = std::move(locked);
  const auto finish = [waiting] {
    if (--waiting->owed == 0) waiting->locked(std::move(waiting->outcomes));
  };
  for (size_t i = 0; i < device_ids.size(); ++i) {
    LockOne(device_ids[i], wish, [waiting, i, finish](Outcome outcome) {
      waiting->outcomes[i] = std::move(outcome);
      finish();
    });
  }
  loop_.Post(finish);
}

void DeviceClocks::LockOne(const std::string& id, const Wish& wish, std::function<void(Outcome)> done) {
  Outcome outcome;
  outcome.device_id = id;
  Result<DeviceFacts> facts = devices_.FactsOf(id);
  // A Neuron device has no clock that a user could set: nobody is to blame.
  const bool has_none = facts.ok() && facts->kind == DeviceKind::kNeuron;
  if (wish.policy.mode == ClockPolicy::Mode::kNone || has_none) return done(std::move(outcome));
  Result<KeeperLock> request = RequestFor(id, wish);
  const std::optional<std::string> uuid = UuidOf(id);
  if (!request.ok() || !uuid) {
    outcome.why_not = request.status();
    return done(std::move(outcome));
  }
  OneDevice& device = DeviceOf(*uuid);
  device.holder = wish.holder;
  device.link->Lock(*std::move(request), [outcome, done = std::move(done)](const Result<KeeperLocked>& answer) mutable {
    if (answer.ok()) {
      outcome.sm_mhz = answer->held.sm_mhz;
      outcome.memory_mhz = answer->held.memory_mhz;
      outcome.notes = answer->notes;
    } else {
      outcome.why_not = answer.status().In(Locking(outcome.device_id));
    }
    done(std::move(outcome));
  });
}

void DeviceClocks::ReleaseAll(int64_t limit_ns, std::function<void()> released) {
  KPROF_ON_IO_LOOP(loop_);
  struct Waiting {
    size_t owed = 1;
    std::function<void()> released;
    IoLoop::Timer limit;
  };
  auto waiting = std::make_shared<Waiting>();  // shared by the answers that are owed
  waiting->released = std::move(released);
  const auto tell = [waiting] {
    waiting->limit.Cancel();
    if (auto told = std::exchange(waiting->released, nullptr)) told();
  };
  const auto finish = [waiting, tell] {
    if (--waiting->owed == 0) tell();
  };
  for (auto& [uuid, device] : by_uuid_) {
    ++waiting->owed;
    device.link->Release([finish](const Status&) { finish(); });
  }
  waiting->limit = loop_.After(limit_ns, tell);
  loop_.Post(finish);
}

void DeviceClocks::Release(const std::vector<std::string>& device_ids, std::function<void()> released) {
  KPROF_ON_IO_LOOP(loop_);
  auto owed = std::make_shared<size_t>(1);  // shared by the answers that are owed
  const auto finish = [owed, released = std::move(released)] {
    if (--*owed == 0 && released) released();
  };
  for (const std::string& id : device_ids) {
    const std::optional<std::string> uuid = UuidOf(id);
    const auto found = uuid ? by_uuid_.find(*uuid) : by_uuid_.end();
    if (found == by_uuid_.end()) continue;
    ++*owed;
    found->second.holder.clear();
    found->second.link->Release([finish](const Status&) { finish(); });
  }
  loop_.Post(finish);
}

std::optional<std::string> DeviceClocks::UuidOf(const std::string& device_id) const {
  Result<DeviceFacts> facts = devices_.FactsOf(device_id);
  if (!facts.ok() || !facts->nvidia) return std::nullopt;
  return facts->nvidia->uuid;
}

std::string DeviceClocks::IdOf(const std::string& uuid) const {
  return devices_.IdOfUuid(uuid).value_or(uuid);
}

const DeviceClocks::OneDevice* DeviceClocks::FindDevice(const std::string& device_id) const {
  const std::optional<std::string> uuid = UuidOf(device_id);
  const auto found = uuid ? by_uuid_.find(*uuid) : by_uuid_.end();
  return found == by_uuid_.end() ? nullptr : &found->second;
}

std::optional<DeviceClocks::Held> DeviceClocks::HeldOn(const std::string& device_id) const {
  const OneDevice* device = FindDevice(device_id);
  if (device == nullptr || !device->link->held()) return std::nullopt;
  return Held{device->holder, *device->link->held()};
}

Status DeviceClocks::TroubleOf(const std::string& device_id) const {
  const OneDevice* device = FindDevice(device_id);
  return device == nullptr ? OkStatus() : device->link->trouble();
}

}  // namespace kprof
