// The clocks of this node's devices: locks those of some devices together, by a policy, and releases them; and when
// kprofd starts, sees to what another one left. Knows nothing of leases: that a device is one holder's at a time is the
// caller's.
//
// Io loop only. Never blocks: a device whose driver hangs costs its own holder the limit of one call, and nobody else
// anything. `loop` and `devices` must outlive it. Destroyed, it lets go of all: what is held is given back by those who
// hold it (clock_link.h).
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
  // Of one device.
  struct Outcome {
    std::string device_id;
    // What is held. Absent: nothing is.
    std::optional<uint32_t> sm_mhz;  // 0: its base
    std::optional<uint32_t> memory_mhz;
    // Of a device that has clocks and whose clocks were to be locked: why they are not.
    Status why_not;
    // What else did not work, or is worth knowing, as sentences.
    std::vector<std::string> notes;
  };
  using Locked = std::function<void(std::vector<Outcome>)>;

  DeviceClocks(IoLoop& loop, ClockLink::Settings settings, NodeDevices& devices);

  // Sees to what is noted as held by a kprofd before, by device.
  void Begin(const std::vector<std::string>& held_uuids);

  // `locked` is called once, from the loop, never from inside, when each device is locked or it is known why not: what
  // is known at once takes no time, a policy of none above all.
  void Lock(const std::vector<std::string>& device_ids, Wish wish, Locked locked);
  // `released` is called when all are as they were before, or what could not be given back at once is being tried
  // again.
  void Release(const std::vector<std::string>& device_ids, std::function<void()> released);

  // All, before the end; calls `released` when that is done, or has taken so long.
  void ReleaseAll(int64_t limit_ns, std::function<void()> released);

  struct Held {
    std::string holder;
    KeeperLocked what;
  };
  std::optional<Held> HeldOn(const std::string& device_id) const;
  // Why something of it could not be given back yet; ok: all is.
  Status TroubleOf(const std::string& device_id) const;

  // What is held on a device is lost, with why, and again when it is known whether it is held anew.
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
