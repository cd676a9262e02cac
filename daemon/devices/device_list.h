// The devices of this node, and how a selector names some of them. Immutable after construction; any thread.
#pragma once

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
  // gives an empty list. An empty selector: the devices that CUDA_VISIBLE_DEVICES or NEURON_RT_VISIBLE_CORES of
  // `environment`
  // ("NAME=value") name (cpu when they are set and name none), else the first accelerator, else cpu.
  // Fails with kUsage for what the node does not have, and says what it has.
  Result<std::vector<std::string>> Select(std::string_view selector, const std::vector<std::string>& environment) const;

  // The environment variables that make exactly the leased devices visible to a program: of each vendor whose devices
  // this node manages. Vendors it does not manage are left as the caller has them. A device is leased whole; where the
  // caller's own NEURON_RT_VISIBLE_CORES names some of the leased cores, only those are made visible.
  std::vector<std::string> VisibilityVariables(const std::vector<std::string>& leased_ids,
                                               const std::vector<std::string>& environment) const;

 private:
  Result<std::vector<std::string>> SelectFromEnvironment(const std::vector<std::string>& environment) const;
  std::string WhatToName() const;

  std::vector<Device> devices_;
};

}  // namespace kprof
