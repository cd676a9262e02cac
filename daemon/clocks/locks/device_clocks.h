// The clocks of this node's devices. Locks those of some devices together, by a policy, and releases them. When kprofd
// starts, gives back what an earlier one left. Knows nothing of leases: the caller sees to it that a device has one
// holder at a time.
//
// Io loop only. Never blocks: a device whose driver hangs costs its own holder the limit of one call, and nobody else
// anything. `loop` and `devices` must outlive it. Its destructor lets go of all: the keepers give back what is held
// (clock_link.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/clocks/locks/clock_link.h"
#include "daemon/clocks/locks/clock_policy.h"
#include "daemon/devices/node_devices.h"
#include "storage/base/status.h"

namespace kprof {

class DeviceClocks {
 public:
  struct Wish {
    ClockPolicy policy;
    std::string holder;  // for people
  };
  // The outcome for one device.
  struct Outcome {
    std::string device_id;
    // The clocks that are held. Absent: none are.
    std::optional<uint32_t> sm_mhz;  // 0: its base
    std::optional<uint32_t> memory_mhz;
    // Why the clocks are not locked, where the device has some and they were to be.
    Status why_not;
    // Other wishes that did not work, and what else is worth knowing, as sentences.
    std::vector<std::string> notes;
  };
  using Locked = std::function<void(std::vector<Outcome>)>;

  DeviceClocks(IoLoop& loop, ClockLink::Settings settings, NodeDevices& devices);

  // Gives back the clocks that a kprofd before noted as held, by device.
  void Begin(const std::vector<std::string>& held_uuids);

  // `locked` is called once, from the loop, never from inside, when each device is locked or it is known why not. An
  // answer that is known at once takes no time, a policy of none above all.
  void Lock(const std::vector<std::string>& device_ids, Wish wish, Locked locked);
  // `released` is called when all are as they were before; those that could not be given back at once are tried again.
  void Release(const std::vector<std::string>& device_ids, std::function<void()> released);

  // Releases all, before the end. Calls `released` when that is done, or has taken so long.
  void ReleaseAll(int64_t limit_ns, std::function<void()> released);

  struct Held {
    std::string holder;
    KeeperLocked what;
  };
  std::optional<Held> HeldOn(const std::string& device_id) const;
  // Why a clock of the device could not be given back yet; ok: all are.
  Status TroubleOf(const std::string& device_id) const;

  // Called when the hold on a device is lost, with why, and again when it is known that it cannot be held anew.
  std::function<void(const std::string& device_id, const Status& why)> on_lost;

 private:
  struct OneDevice {
    std::unique_ptr<ClockLink> link;
    std::string holder;
  };

  void LockOne(const std::string& id, const Wish& wish, std::function<void(Outcome)> done);
  Result<KeeperLock> RequestFor(const std::string& device_id, const Wish& wish) const;
  OneDevice& DeviceOf(const std::string& uuid);
  const OneDevice* FindDevice(const std::string& device_id) const;
  std::optional<std::string> UuidOf(const std::string& device_id) const;
  std::string IdOf(const std::string& uuid) const;

  IoLoop& loop_;
  const ClockLink::Settings settings_;
  NodeDevices& devices_;
  std::map<std::string, OneDevice> by_uuid_;
};

}  // namespace kprof
