// RunsService.ListRuns: one page of the runs that a caller may see, as they are now: from the catalog and, where that
// has not heard of a run's end yet (a full disk), from Runs.
#pragma once

#include <functional>

#include "daemon/rpc/caller.h"
#include "daemon/rpc/rpc_parts.h"
#include "kprof/v1/runs.pb.h"
#include "storage/base/status.h"

namespace kprof {

// Any thread; never blocks. Calls `done` once: from a worker or, where none is to be had, from this thread or the io
// loop. `request` and `page`, which is empty, must live until then.
// Fails with kUsage for a negative page size, an unknown state or a token that is no run's id, with kQueueFull when the
// workers take no more or no reader is free in time, and as the catalog does.
void ReadRunPage(const RpcParts& parts, const Caller& caller, const v1::ListRunsRequest& request,
                 v1::ListRunsResponse& page, std::function<void(const Status&)> done);

}  // namespace kprof
