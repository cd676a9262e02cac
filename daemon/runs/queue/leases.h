// Lets requests wait on the io loop, in a lease_queue.h, and calls each one's waiter when it is granted. One object is
// for the node's devices, whose holders are sessions and single runs; each session has one for its runs.
//
// Io loop only. A waiter must live as long as this, or leave before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/runs/queue/lease_queue.h"
#include "storage/base/clock.h"

namespace kprof {

class Leases {
 public:
  // `changed`: a request came, left or was granted, so that other outlooks may be different.
  Leases(const Clock& clock, size_t places_without_device, std::function<void()> changed)
      : clock_(clock), queue_(places_without_device), changed_(std::move(changed)) {}
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // Calls `granted` once, when all devices of the request are held for it; that may be before this returns.
  void Wait(LeaseRequest request, std::function<void()> granted);

  // Gives a holder at once what it had before a restart. REQUIRES: nobody holds its devices.
  void Hold(LeaseRequest request) { queue_.Hold(std::move(request), clock_.mono_ns()); }

  // The same, for those of its devices that nobody holds.
  void HoldFree(LeaseRequest request);

  // Gives back what that holder has, or ends its waiting. Unknown ids are fine.
  void Leave(const std::string& id);

  // Nothing is granted before Begin and after End.
  void Begin();
  void End() { granting_ = false; }

  // Nothing for a request that does not wait.
  std::optional<LeaseQueue::Outlook> OutlookOf(const std::string& id) const {
    return queue_.OutlookOf(id, clock_.mono_ns());
  }
  const LeaseQueue& queue() const { return queue_; }

 private:
  void GrantReady();

  const Clock& clock_;
  LeaseQueue queue_;
  const std::function<void()> changed_;
  std::unordered_map<std::string, std::function<void()>> waiting_;
  bool granting_ = false;
};

}  // namespace kprof
