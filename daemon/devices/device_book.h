// The devices of this node as far as they are known now. It grows while kprofd runs, when a driver is loaded late, say;
// none ever goes, so that an id means one thing as long as kprofd lives: what has become of a device is its health.
//
// Any thread, hence the mutex.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// A device that can be leased: the host's processors, a GPU, a Neuron device. A value; what it is, not who uses it.
enum class DeviceKind { kCpu, kNvidia, kNeuron, kAmd };

std::string_view DeviceKindName(DeviceKind kind);  // "nvidia"

struct Device {
  std::string id;  // what --device takes: "cpu", "0"...
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;
  std::string uuid;        // as the vendor's runtime takes it; "cpu" has none. Empty: its place among that kind
  std::vector<int> cores;  // kNeuron: its NeuronCores, by the runtime's numbers
  bool operator==(const Device&) const = default;
};

// The devices of this node, and how a selector names some of them. Immutable after construction; any thread.
class DeviceList {
 public:
  // The accelerators in their order; the device `cpu` is added in front.
  explicit DeviceList(std::vector<Device> accelerators);

  const std::vector<Device>& all() const { return devices_; }

  // The ids that a selector names, in the node's order: "0", "0,1", a uuid, "all" (every accelerator), "cpu"; "none"
  // alone gives an empty list. On a node whose accelerators are all Neuron devices "0" is "neuron0" as well, unless
  // another is called so. An empty selector: the devices that CUDA_VISIBLE_DEVICES or NEURON_RT_VISIBLE_CORES of
  // `environment` ("NAME=value") name (cpu when they are set and name none), else the first accelerator, else cpu.
  // Fails with kUsage for what the node does not have, for a device that is named twice and for "none" beside others,
  // and says what there is to name.
  Result<std::vector<std::string>> Select(std::string_view selector, const std::vector<std::string>& environment) const;
  // The same with no environment, for who needs a device: "none" is refused, too.
  Result<std::vector<std::string>> SelectSome(std::string_view selector) const;

  // The environment variables that make exactly the leased devices visible to a program: of each vendor whose devices
  // this node manages. Vendors it does not manage are left as the caller has them, and so are Neuron devices where a
  // leased one's cores are told by nobody. A device is leased whole; where the caller's own NEURON_RT_VISIBLE_CORES
  // names some of the leased cores, only those are made visible.
  std::vector<std::string> VisibilityVariables(const std::vector<std::string>& leased_ids,
                                               const std::vector<std::string>& environment) const;

 private:
  Result<std::vector<std::string>> SelectFromEnvironment(const std::vector<std::string>& environment) const;
  Result<std::vector<std::string>> SelectNamed(std::string_view selector, bool or_none) const;
  std::vector<std::string> InOrder(const std::set<std::string_view>& wanted) const;
  std::string WhatToName(bool or_none) const;

  std::vector<Device> devices_;
};

class DeviceBook {
 public:
  explicit DeviceBook(DeviceList list) : list_(std::make_shared<const DeviceList>(std::move(list))) {}

  // Shared: whoever looks at one keeps it while the next one is made.
  std::shared_ptr<const DeviceList> now() const {
    MutexLock lock(mu_);
    return list_;
  }
  void Set(DeviceList list) {
    MutexLock lock(mu_);
    list_ = std::make_shared<const DeviceList>(std::move(list));
  }

 private:
  mutable Mutex mu_;
  std::shared_ptr<const DeviceList> list_ KPROF_GUARDED_BY(mu_);
};

}  // namespace kprof
