// What the devices, and the right to set their clocks, have to say to `kprofctl doctor`.
//
// Io loop only.
#pragma once

#include <string>
#include <vector>

#include "daemon/devices/device_facts.h"
#include "daemon/devices/node_diagnoses.h"
#include "daemon/rpc/service_context.h"

namespace kprof {

// An accelerator, as it is now.
struct AcceleratorStanding {
  std::string id;
  DeviceFacts facts;
  Status clocks_trouble;  // why they are not given back yet
};

// None where there are none. `may_lock`: clocks, by itself or through the helper. Pure.
std::vector<Diagnosis> DiagnoseAccelerators(const std::vector<AcceleratorStanding>& accelerators, bool may_lock);

// The same of those that this node has now.
std::vector<Diagnosis> DiagnoseDevices(const ServiceContext& parts);

}  // namespace kprof
