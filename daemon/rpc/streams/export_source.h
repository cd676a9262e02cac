// RunsService.ExportRun: a run's trace in the format that the caller asks for, as chunks with a sha256.
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// For the bulk pool; any thread may make it. From its first message to its end it has a thread of its own, one of the
// places for exports, and the parts open: their space on disk is free once it is destroyed, if the run is deleted
// meanwhile. Next fails as the look-up of the run does (object_lookup.h), with kUsage where there is no such format or
// part, with kQueueFull when as many exports as may be are under way (stream_limits.h), and as the parts do.
std::unique_ptr<PullSource<v1::ExportRunResponse>> MakeExportSource(const ServiceContext& parts, const Caller& caller,
                                                                    const v1::ExportRunRequest& request);

}  // namespace kprof
