#include "daemon/runs/run_queue.h"

#include <algorithm>

#include "storage/base/status.h"

namespace kprof {

void RunQueue::Add(const std::string& id, std::vector<std::string> devices) {
  KPROF_CHECK(!waiting_by_id_.contains(id) && !running_.contains(id));
  for (const std::string& device : devices) ++waiting_for_[device];
  if (devices.empty()) ++waiting_without_device_;
  waiting_.push_back(Entry{id, std::move(devices)});
  waiting_by_id_[id] = std::prev(waiting_.end());
}

std::string RunQueue::StartNext() {
  std::set<std::string> wanted;  // by those earlier in the queue, which nobody overtakes
  bool places_wanted = waiting_without_device_ == 0;
  const auto devices_wanted = static_cast<size_t>(
      std::count_if(waiting_for_.begin(), waiting_for_.end(), [](const auto& entry) { return entry.second > 0; }));
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
    bool may_start = true;
    if (it->devices.empty()) {
      may_start = !places_wanted && running_without_device_ < limits_.running_without_device;
      places_wanted = true;
    }
    for (const std::string& device : it->devices) {
      if (holders_.contains(device) || wanted.contains(device)) may_start = false;
      wanted.insert(device);
    }
    if (!may_start) {
      // Whatever comes later wants only what somebody earlier wants: a long queue costs no long walk.
      if (places_wanted && wanted.size() == devices_wanted) return {};
      continue;
    }
    Entry entry = std::move(*it);
    waiting_by_id_.erase(entry.id);
    waiting_.erase(it);
    for (const std::string& device : entry.devices) {
      --waiting_for_[device];
      holders_[device] = entry.id;
    }
    if (entry.devices.empty()) {
      --waiting_without_device_;
      ++running_without_device_;
    }
    running_[entry.id] = std::move(entry.devices);
    return entry.id;
  }
  return {};
}

void RunQueue::Remove(const std::string& id) {
  if (auto waiting = waiting_by_id_.find(id); waiting != waiting_by_id_.end()) {
    for (const std::string& device : waiting->second->devices) --waiting_for_[device];
    if (waiting->second->devices.empty()) --waiting_without_device_;
    waiting_.erase(waiting->second);
    waiting_by_id_.erase(waiting);
    return;
  }
  auto running = running_.find(id);
  if (running == running_.end()) return;
  for (const std::string& device : running->second) holders_.erase(device);
  if (running->second.empty()) --running_without_device_;
  running_.erase(running);
}

int RunQueue::Position(const std::string& id) const {
  if (!waiting_by_id_.contains(id)) return 0;
  int position = 1;
  for (const Entry& entry : waiting_) {
    if (entry.id == id) return position;
    ++position;
  }
  return 0;
}

std::vector<std::string> RunQueue::WaitingIds() const {
  std::vector<std::string> ids;
  for (const Entry& entry : waiting_) ids.push_back(entry.id);
  return ids;
}

std::string RunQueue::HolderOf(const std::string& device) const {
  auto found = holders_.find(device);
  return found == holders_.end() ? std::string() : found->second;
}

int RunQueue::CountWaitingFor(const std::string& device) const {
  auto found = waiting_for_.find(device);
  return found == waiting_for_.end() ? 0 : found->second;
}

}  // namespace kprof
