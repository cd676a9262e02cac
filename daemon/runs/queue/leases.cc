#include "daemon/runs/queue/leases.h"

namespace kprof {

void Leases::Wait(LeaseRequest request, std::function<void()> granted) {
  waiting_[request.id] = std::move(granted);
  queue_.Add(std::move(request));
  changed_();
  GrantReady();
}

void Leases::HoldFree(LeaseRequest request) {
  const bool has_devices = !request.devices.empty();
  std::erase_if(request.devices, [this](const std::string& device) { return !queue_.HolderOf(device).empty(); });
  if (request.devices.empty() && has_devices) return;  // else it would take a place of those without
  Hold(std::move(request));
}

void Leases::Leave(const std::string& id) {
  waiting_.erase(id);
  queue_.Remove(id, clock_.mono_ns());
  changed_();
  GrantReady();
}

void Leases::Begin() {
  granting_ = true;
  GrantReady();
}

void Leases::GrantReady() {
  while (granting_) {
    const std::string id = queue_.GrantNext(clock_.mono_ns());
    if (id.empty()) return;
    std::function<void()> granted = std::move(waiting_.extract(id).mapped());
    changed_();
    granted();
  }
}

}  // namespace kprof
