// Artifacts on their way down and up, and the catalog's backup on its way down: files as chunks with a sha256.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>

#include "daemon/rpc/caller.h"
#include "daemon/rpc/pull_stream.h"
#include "daemon/rpc/rpc_parts.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

std::unique_ptr<PullSource<v1::DownloadArtifactResponse>> MakeDownloadSource(
    const RpcParts& parts, const Caller& caller, const v1::DownloadArtifactRequest& request);

// Writes a copy of the catalog first, so one at a time: the next fails with kQueueFull.
std::unique_ptr<PullSource<v1::BackUpCatalogResponse>> MakeBackUpSource(const RpcParts& parts, const Caller& caller);

// An upload whose client sends nothing for so long is given up.
constexpr int64_t kUploadIdleLimitMs = 60'000;

// Owns itself. Ends at once with kQueueFull when as many are under way as may be (stream_limits.h).
grpc::ServerReadReactor<v1::UploadArtifactRequest>* StartUpload(const RpcParts& parts, const Caller& caller,
                                                                v1::UploadArtifactResponse& response);

}  // namespace kprof
