// RunsService.UploadSource: a client stream whose bytes become a held source (source_spool.h).
#pragma once

#include <grpcpp/support/server_callback.h>

#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// Any thread. It owns itself. Fails as it was not admitted, and with kQueueFull when as many uploads as may be, or as
// many sources, are there already; with kTimedOut when nothing comes for kUploadIdleLimitMs (upload_calls.h).
// `response` lives until it is done.
grpc::ServerReadReactor<v1::UploadSourceRequest>* StartSourceUpload(CallRecord record, const ServiceContext& parts,
                                                                    v1::UploadSourceResponse& response);

}  // namespace kprof
