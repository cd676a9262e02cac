// RecordCeiling and ForgetCeilings: what a run has reached on its device becomes a number beside the device's peaks.
//
// Any thread. `parts`, `request` and `response` must outlive the call, which ends when `end` is called: once, later,
// from the io loop.
#pragma once

#include <functional>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "kprof/v1/node.pb.h"

namespace kprof {

using EndCall = std::function<void(const Status&)>;

// Fails as NodeService says.
void RecordCeiling(const ServiceContext& parts, const Caller& caller, const v1::RecordCeilingRequest& request,
                   v1::RecordCeilingResponse& response, EndCall end);

void ForgetCeilings(const ServiceContext& parts, const Caller& caller, const v1::ForgetCeilingsRequest& request,
                    v1::ForgetCeilingsResponse& response, EndCall end);

}  // namespace kprof
