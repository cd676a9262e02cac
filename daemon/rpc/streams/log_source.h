// The source of RunsService.ReadLog: the output of a run's command, from the live log while it runs, from the kept one
// afterwards. Runs tells it the run's state, so that following a silent run costs next to nothing.
#pragma once

#include <memory>

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/pull_stream.h"
#include "kprof/v1/runs.pb.h"

namespace kprof {

// For the bulk pool; any thread may make it. Next fails with kUsage for a negative offset, as the look-up of the run
// does (object_lookup.h), with kQueueFull when no reader is free in time, and when a log cannot be read. A run without
// a log has an empty one.
std::unique_ptr<PullSource<v1::ReadLogResponse>> MakeLogSource(const ServiceContext& context, const Caller& caller,
                                                               const v1::ReadLogRequest& request);

}  // namespace kprof
