// RunsService.DownloadArtifact: what the catalog says of an artifact, then its file as chunks with a sha256.
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// NodeService.BackUpCatalog: a consistent copy of the catalog, as chunks with a sha256. Whether the caller may have it
// is decided before (node_service.cc).

// For the bulk pool; any thread may make it. The first Next writes the whole copy, which takes the disk's room until
// the source is destroyed. It fails with kQueueFull when as many backups as may be are under way (stream_limits.h), and
// as Catalog::BackUp does.
std::unique_ptr<PullSource<v1::BackUpCatalogResponse>> MakeBackUpSource(const ServiceContext& context,
                                                                        const Caller& caller);

// RunsService.ExportRun: a run's trace in the format that the caller asks for, as chunks with a sha256.

// For the bulk pool; any thread may make it. From its first message to its end it has a thread of its own, one of the
// places for exports, and the parts open: their space on disk is free once it is destroyed, if the run is deleted
// meanwhile. Next fails as the look-up of the run does (object_lookup.h), with kUsage where there is no such format or
// part, with kQueueFull when as many exports as may be are under way (stream_limits.h), and as the parts do.
std::unique_ptr<PullSource<v1::ExportRunResponse>> MakeExportSource(const ServiceContext& context, const Caller& caller,
                                                                    const v1::ExportRunRequest& request);

// For the bulk pool; any thread may make it. Holds an open file until it is destroyed, but no reader of the catalog.
// Next fails as the look-up of the run does (object_lookup.h), with kNotFound when the run has no artifact of that
// name, with kQueueFull when no reader is free in time, and when the file cannot be read.
std::unique_ptr<PullSource<v1::DownloadArtifactResponse>> MakeDownloadSource(
    const ServiceContext& context, const Caller& caller, const v1::DownloadArtifactRequest& request);

}  // namespace kprof
