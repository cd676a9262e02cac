// The devices of this node: one of them (Device), a list of them with the selectors that name some (DeviceList), and
// the list as it is known now (DeviceBook).
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

enum class DeviceKind { kCpu, kNvidia, kNeuron, kAmd };

std::string_view DeviceKindName(DeviceKind kind);  // "nvidia"

// A device that can be leased: the host's processors, a GPU, a Neuron device. A value; says what it is, not who uses
// it.
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
  // `accelerators`: in their order; the device `cpu` is added in front.
  explicit DeviceList(std::vector<Device> accelerators);

  const std::vector<Device>& all() const { return devices_; }

  // Returns the ids that a selector names, in the node's order: "0", "0,1", a uuid, "all" (every accelerator), "cpu";
  // "none" alone gives an empty list. On a node whose accelerators are all Neuron devices "0" is "neuron0" as well,
  // unless another has the id "0".
  //
  // An empty selector means the devices that CUDA_VISIBLE_DEVICES or NEURON_RT_VISIBLE_CORES of `environment`
  // ("NAME=value") name (cpu when they are set and name none), else the first accelerator, else cpu.
  //
  // Fails with kUsage for a device that the node does not have, one that is named twice, and "none" beside others. The
  // remedy lists the devices that can be named.
  Result<std::vector<std::string>> Select(std::string_view selector, const std::vector<std::string>& environment) const;
  // The same with no environment, for callers who need a device: "none" is refused, too.
  Result<std::vector<std::string>> SelectSome(std::string_view selector) const;

  // The environment variables that make exactly the leased devices visible to a program, for each vendor whose devices
  // this node manages. Other vendors' variables are left as the caller has them; so are those of Neuron where nobody
  // tells the cores of a leased device. A device is leased whole; where the caller's own NEURON_RT_VISIBLE_CORES names
  // some of the leased cores, only those are made visible.
  std::vector<std::string> VisibilityVariables(const std::vector<std::string>& leased_ids,
                                               const std::vector<std::string>& environment) const;

 private:
  Result<std::vector<std::string>> SelectFromEnvironment(const std::vector<std::string>& environment) const;
  Result<std::vector<std::string>> SelectNamed(std::string_view selector, bool or_none) const;
  std::vector<std::string> InOrder(const std::set<std::string_view>& wanted) const;
  std::string WhatToName(bool or_none) const;

  std::vector<Device> devices_;
};

// The devices of this node as far as they are known now. The list grows while kprofd runs, when a driver is loaded
// late, say. No device ever goes, so that an id means one thing as long as kprofd lives: a device's health tells what
// has become of it. Any thread, hence the mutex.
class DeviceBook {
 public:
  explicit DeviceBook(DeviceList list) : list_(std::make_shared<const DeviceList>(std::move(list))) {}

  // Shared: a reader keeps its list while the next one is made.
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
