// The sources of downloads: an artifact, an exported trace, a copy of the catalog. Each sends its bytes as chunks with
// a sha256.
//
// All are for the bulk pool; any thread may make one.
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// NodeService.BackUpCatalog: a consistent copy of the catalog. node_service.cc has authorised the caller before. The
// first Next writes the whole copy, which takes space on the disk until the source is destroyed. It fails with
// kQueueFull when as many backups as may be are under way (stream_limits.h), and as Catalog::BackUp does.
std::unique_ptr<PullSource<v1::BackUpCatalogResponse>> MakeBackUpSource(const ServiceContext& context,
                                                                        const Caller& caller);

// RunsService.ExportRun: a run's trace in the format that the caller asks for. From its first message to its end the
// source has a thread of its own, one of the places for exports, and the trace's parts open: if the run is deleted
// meanwhile, their space on the disk is free once the source is destroyed. Next fails as the look-up of the run does
// (object_lookup.h), with kUsage where there is no such format or part, with kQueueFull when as many exports as may be
// are under way (stream_limits.h), and as reading the parts does.
std::unique_ptr<PullSource<v1::ExportRunResponse>> MakeExportSource(const ServiceContext& context, const Caller& caller,
                                                                    const v1::ExportRunRequest& request);

// RunsService.DownloadArtifact: an artifact's row, then its file. Holds an open file until it is destroyed, but no
// reader of the catalog. Next fails as the look-up of the run does (object_lookup.h), with kNotFound when the run has
// no artifact of that name, with kQueueFull when no reader is free in time, and when the file cannot be read.
std::unique_ptr<PullSource<v1::DownloadArtifactResponse>> MakeDownloadSource(
    const ServiceContext& context, const Caller& caller, const v1::DownloadArtifactRequest& request);

}  // namespace kprof
