// RunsService.ListRuns: one page of the runs that a caller may see, as they are now: from the catalog and, where that
// has not heard of a run's end yet (a full disk), from Runs.
#pragma once

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/unary_call.h"

namespace kprof {

// Any thread; never blocks. Ends the call: at once, with the page of before, while nothing has changed since.
// Fails with kUsage for what is no request, a negative page size, an unknown state or a token that is no run's id, with
// kQueueFull when the workers take no more or no reader is free in time, and as the catalog does.
void AnswerRunPage(const ServiceContext& parts, const Caller& caller, const grpc::ByteBuffer& request,
                   grpc::ByteBuffer& response, UnaryCall& call);

}  // namespace kprof
