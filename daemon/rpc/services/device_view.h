// The devices as one caller may see them: who holds each, whether it is well, what it tells, what it can do at most.
// Also the devices' part of `kprofctl doctor`.
//
// Io loop only. The context and `caller` must outlive it.
#pragma once

#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/node_diagnoses.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

// An accelerator at this moment.
struct AcceleratorStanding {
  std::string id;
  DeviceFacts facts;
  Status clocks_trouble;  // why they are not given back yet
};

// The diagnoses of these accelerators; empty where there are none. `may_lock`: this daemon may lock clocks, by itself
// or through the helper. Pure.
std::vector<Diagnosis> DiagnoseAccelerators(const std::vector<AcceleratorStanding>& accelerators, bool may_lock);

// The diagnoses of the accelerators that this node has now.
std::vector<Diagnosis> DiagnoseDevices(const ServiceContext& context);

class DeviceView {
 public:
  DeviceView(const ServiceContext& context, const Caller& caller) : context_(context), caller_(caller) {}

  enum class Detail {
    kLease,  // who holds it, and whether it is well
    kTold,   // and what it tells of itself, and its clocks
    kAll,    // and its peaks
  };
  // Adds all devices, in their order.
  void Fill(Detail detail, google::protobuf::RepeatedPtrField<v1::Device>& out) const;

  // Fills in what kprofd holds of the device's clocks. The lease tells who holds the device.
  void FillClocks(const std::string& device_id, v1::DeviceClocks& out) const;

 private:
  void FillLease(const Device& device, v1::Device& out) const;
  void FillFacts(const Device& device, Detail detail, v1::Device& out) const;
  void FillOwners(v1::Device& out) const;

  const ServiceContext& context_;
  const Caller& caller_;
};

}  // namespace kprof
