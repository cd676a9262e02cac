// RunsService.DownloadArtifact: what the catalog says of an artifact, then its file as chunks with a sha256.
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// For the bulk pool; any thread may make it. Holds an open file until it is destroyed, but no reader of the catalog.
// Next fails as the look-up of the run does (object_lookup.h), with kNotFound when the run has no artifact of that
// name, with kQueueFull when no reader is free in time, and when the file cannot be read.
std::unique_ptr<PullSource<v1::DownloadArtifactResponse>> MakeDownloadSource(
    const ServiceContext& parts, const Caller& caller, const v1::DownloadArtifactRequest& request);

}  // namespace kprof
