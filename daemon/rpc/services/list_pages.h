// Answers with pages: of runs, sessions and rounds as they are now, and of the audit. The catalog has the rows; Runs
// has the states that the catalog could not store yet (a full disk).
#pragma once

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/unary_call.h"
#include "kprof/v1/node.pb.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof {

// A page of the audit. Blocking. Fails with kUsage for a page token that is not ours. permissions.h says who may ask.
Status ReadAuditPage(Catalog& catalog, const v1::ListAuditRequest& request, v1::ListAuditResponse& page);

// A page of the sessions that the caller may see. Ends the call, to which request and page belong. Fails with kUsage
// for a negative page size, an unknown state or a token that is no session's id, with kQueueFull when the workers take
// no more or no reader is free in time, and as the catalog does. Any thread; never blocks.
void AnswerSessionPage(const ServiceContext& context, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page, UnaryCall& call);

// A page of a session's rounds, in the same way; it ends early above 1 MiB. `session_id` is a whole one, which the
// caller may see.
void AnswerRoundPage(const ServiceContext& context, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page, UnaryCall& call);

// A page of the runs that the caller may see. Ends the call: at once, with the page of before, while nothing has
// changed since. Fails with kUsage for bytes that are no request, a negative page size, an unknown state or a token
// that is no run's id, with kQueueFull when the workers take no more or no reader is free in time, and as the catalog
// does. Any thread; never blocks.
void AnswerRunPage(const ServiceContext& context, const Caller& caller, const grpc::ByteBuffer& request,
                   grpc::ByteBuffer& response, UnaryCall& call);

}  // namespace kprof
