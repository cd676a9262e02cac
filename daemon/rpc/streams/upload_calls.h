// RunsService.UploadArtifact: a header, an artifact's bytes and their sha256 on their way in. What becomes of them is
// artifact_upload.h.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>

#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// RunsService.UploadSource: a client stream whose bytes become a held source (held_sources.h).

// Any thread. It owns itself. Fails as it was not admitted, and with kQueueFull when as many uploads as may be, or as
// many sources, are there already; with kTimedOut when nothing comes for kUploadIdleLimitMs (upload_calls.h).
// `response` lives until it is done.
grpc::ServerReadReactor<v1::UploadSourceRequest>* StartSourceUpload(CallRecord record, const ServiceContext& context,
                                                                    v1::UploadSourceResponse& response);

// An upload whose client sends nothing for so long is given up, with kTimedOut.
constexpr int64_t kUploadIdleLimitMs = 60'000;

// Any thread. The call owns itself; it lives until gRPC is done with it. Files are touched on the bulk pool.
// Ends at once as it was not admitted, and with kQueueFull when as many are under way as may be (stream_limits.h);
// later as the look-up of the run (object_lookup.h) and ArtifactUpload do, with kUsage when messages come in another
// order, with kBadInput when the stream ends without a sha256. Nothing is kept of one that fails.
grpc::ServerReadReactor<v1::UploadArtifactRequest>* StartUpload(CallRecord record, const ServiceContext& context,
                                                                v1::UploadArtifactResponse& response);

}  // namespace kprof
