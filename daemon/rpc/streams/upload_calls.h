// The client streams that bring files: an artifact of a run, or a source of an import. Any thread may start one. The
// call owns itself; it lives until gRPC is done with it.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>

#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// RunsService.UploadSource: the bytes become a held source (held_sources.h). Ends at once as it was not admitted, and
// with kQueueFull when as many uploads as may be, or as many sources, are there already; later with kTimedOut when
// nothing comes for kUploadIdleLimitMs. `response` lives until it is done.
grpc::ServerReadReactor<v1::UploadSourceRequest>* StartSourceUpload(CallRecord record, const ServiceContext& context,
                                                                    v1::UploadSourceResponse& response);

// An upload is given up with kTimedOut when its client sends nothing for so long.
constexpr int64_t kUploadIdleLimitMs = 60'000;

// RunsService.UploadArtifact: a header, an artifact's bytes and their sha256; artifact_upload.h keeps them. Files are
// touched on the bulk pool. Ends at once as it was not admitted, and with kQueueFull when as many are under way as may
// be (stream_limits.h); later as the look-up of the run (object_lookup.h) and ArtifactUpload do, with kUsage when
// messages come in another order, with kBadInput when the stream ends without a sha256. Nothing is kept of a failed
// upload.
grpc::ServerReadReactor<v1::UploadArtifactRequest>* StartUpload(CallRecord record, const ServiceContext& context,
                                                                v1::UploadArtifactResponse& response);

}  // namespace kprof
