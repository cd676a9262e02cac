// The devices as one caller may see them: who holds each, whether it is well, what it tells, what it can do at most.
//
// Io loop only. `parts` and `caller` must outlive it.
#pragma once

#include <string>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

class DeviceView {
 public:
  DeviceView(const ServiceContext& parts, const Caller& caller) : context_(parts), caller_(caller) {}

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
