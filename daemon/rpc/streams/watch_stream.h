// RunsService.WatchRun and WaitRun: calls that follow one run until it has ended. They live on the io loop, where the
// run does. A slow reader misses intermediate states, never the last. Only the first message of a watch has the command
// line and the environment.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// Both: any thread. They own themselves; `request` is read before they return. They fail as they were not admitted, and
// as the look-up of the run does (object_lookup.h). A call that is recorded as kHoldRun holds the run while it watches.
grpc::ServerWriteReactor<v1::WatchRunResponse>* StartWatch(CallRecord record, const ServiceContext& context,
                                                           const v1::WatchRunRequest& request);
// Fails with the run's own error, too, when the run ended with one.
grpc::ServerUnaryReactor* StartWait(CallRecord record, const ServiceContext& context, const v1::WaitRunRequest& request,
                                    v1::WaitRunResponse& response);

}  // namespace kprof
