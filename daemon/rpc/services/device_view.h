// The devices as one caller may see them: who holds each, whether it is well, what it tells, what it can do at most.
//
// Io loop only. `parts` and `caller` must outlive it.
#pragma once

#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/node_diagnoses.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// What the devices, and the right to set their clocks, have to say to `kprofctl doctor`.
//
// Io loop only.

// An accelerator, as it is now.
struct AcceleratorStanding {
  std::string id;
  DeviceFacts facts;
  Status clocks_trouble;  // why they are not given back yet
};

// None where there are none. `may_lock`: clocks, by itself or through the helper. Pure.
std::vector<Diagnosis> DiagnoseAccelerators(const std::vector<AcceleratorStanding>& accelerators, bool may_lock);

// The same of those that this node has now.
std::vector<Diagnosis> DiagnoseDevices(const ServiceContext& context);

class DeviceView {
 public:
  DeviceView(const ServiceContext& context, const Caller& caller) : context_(context), caller_(caller) {}

  enum class Detail {
    kLease,  // who holds it, and whether it is well
    kTold,   // and what it tells of itself, and its clocks
    kAll,    // and its peaks
  };
  // All that there are, in their order.
  void Fill(Detail detail, google::protobuf::RepeatedPtrField<v1::Device>& out) const;

  // What kprofd holds of its clocks. Who holds it is told with the lease.
  void FillClocks(const std::string& device_id, v1::DeviceClocks& out) const;

 private:
  void FillLease(const Device& device, v1::Device& out) const;
  void FillFacts(const Device& device, Detail detail, v1::Device& out) const;
  void FillOwners(v1::Device& out) const;

  const ServiceContext& context_;
  const Caller& caller_;
};

}  // namespace kprof
