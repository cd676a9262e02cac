// Who goes next: first come first served, one run per device. A run waits for all its devices at once; nobody overtakes
// an earlier run that wants one of the same. Runs without a device share a bounded number of places.
// Pure: knows ids and device names, no clock and no catalog. Io loop only.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace kprof {

class RunQueue {
 public:
  struct Limits {
    size_t queued = 10'000;
    size_t running_without_device = 8;
    bool operator==(const Limits&) const = default;
  };
  explicit RunQueue(const Limits& limits) : limits_(limits) {}

  size_t queued() const { return waiting_.size(); }
  size_t running() const { return running_.size(); }
  size_t limit() const { return limits_.queued; }

  // REQUIRES: the id is not here. Devices are distinct. Takes more than the limit, too:
  // refusing is up to the caller, who knows what else is on its way.
  void Add(const std::string& id, std::vector<std::string> devices);

  // Takes the next run that may start and gives it its devices; empty when none may.
  std::string StartNext();

  // Gives back what a started run held, or takes a waiting one out. Unknown ids are fine.
  void Remove(const std::string& id);

  // 1: the first of those waiting. 0: not waiting. Costs a walk of the queue.
  int Position(const std::string& id) const;
  // Those waiting, in order.
  std::vector<std::string> WaitingIds() const;

  // The started run that holds the device; empty: free.
  std::string HolderOf(const std::string& device) const;
  // How many wait for the device.
  int CountWaitingFor(const std::string& device) const;

 private:
  struct Entry {
    std::string id;
    std::vector<std::string> devices;
  };

  const Limits limits_;
  std::list<Entry> waiting_;  // in order
  std::unordered_map<std::string, std::list<Entry>::iterator> waiting_by_id_;
  std::unordered_map<std::string, std::vector<std::string>> running_;  // id -> devices
  std::map<std::string, std::string> holders_;                         // device -> id
  std::map<std::string, int> waiting_for_;                             // device -> count
  size_t waiting_without_device_ = 0;
  size_t running_without_device_ = 0;
};

}  // namespace kprof
