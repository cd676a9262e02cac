// RunsService.WatchRun and WaitRun: calls that follow one run until it has ended. They live on the io loop, where the
// run does; a slow reader misses intermediate states, never the last.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "daemon/rpc/caller.h"
#include "daemon/rpc/rpc_parts.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// Both own themselves. `request` is read before they return.
grpc::ServerWriteReactor<v1::WatchRunResponse>* StartWatch(const RpcParts& parts, const Caller& caller,
                                                           const v1::WatchRunRequest& request);
grpc::ServerUnaryReactor* StartWait(const RpcParts& parts, const Caller& caller, const v1::WaitRunRequest& request,
                                    v1::WaitRunResponse& response);

}  // namespace kprof
