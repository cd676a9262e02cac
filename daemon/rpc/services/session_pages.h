// One page of sessions, or of a session's rounds, as they are now: from the catalog and, where that has not heard of a
// state yet (a full disk), from Runs. Any thread, never blocking; request and response are the call's, which they end.
#pragma once

#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/unary_call.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof {

// Those that the caller may see. Fails with kUsage for a negative page size, an unknown state or a token that is no
// session's id, with kQueueFull when the workers take no more or no reader is free in time, and as the catalog does.
void AnswerSessionPage(const ServiceContext& parts, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page, UnaryCall& call);

// `session_id` is a whole one, which the caller may see. Fails in the same ways; a page ends early above 1 MiB.
void AnswerRoundPage(const ServiceContext& parts, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page, UnaryCall& call);

}  // namespace kprof
