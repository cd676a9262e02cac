// The devices of this node, and how a selector names some of them. Immutable after construction; any thread.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/devices/device.h"
#include "storage/base/status.h"

namespace kprof {

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

}  // namespace kprof
