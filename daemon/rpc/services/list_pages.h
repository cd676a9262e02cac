// RunsService.ListRuns: one page of the runs that a caller may see, as they are now: from the catalog and, where that
// has not heard of a run's end yet (a full disk), from Runs.
#pragma once

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/unary_call.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof {

// A page of the audit as a message. Who may ask for one is access_rules.h.

// Blocking. Fails with kUsage for a page token that is not ours.
Status ReadAuditPage(Catalog& catalog, const v1::ListAuditRequest& request, v1::ListAuditResponse& page);

// One page of sessions, or of a session's rounds, as they are now: from the catalog and, where that has not heard of a
// state yet (a full disk), from Runs. Any thread, never blocking; request and response are the call's, which they end.

// Those that the caller may see. Fails with kUsage for a negative page size, an unknown state or a token that is no
// session's id, with kQueueFull when the workers take no more or no reader is free in time, and as the catalog does.
void AnswerSessionPage(const ServiceContext& context, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page, UnaryCall& call);

// `session_id` is a whole one, which the caller may see. Fails in the same ways; a page ends early above 1 MiB.
void AnswerRoundPage(const ServiceContext& context, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page, UnaryCall& call);

// Any thread; never blocks. Ends the call: at once, with the page of before, while nothing has changed since.
// Fails with kUsage for what is no request, a negative page size, an unknown state or a token that is no run's id, with
// kQueueFull when the workers take no more or no reader is free in time, and as the catalog does.
void AnswerRunPage(const ServiceContext& context, const Caller& caller, const grpc::ByteBuffer& request,
                   grpc::ByteBuffer& response, UnaryCall& call);

}  // namespace kprof
