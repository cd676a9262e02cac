// One page of sessions, or of a session's rounds, read from the catalog. On a worker; both block.
#pragma once

#include "daemon/rpc/caller.h"
#include "daemon/rpc/rpc_parts.h"
#include "kprof/v1/sessions.pb.h"
#include "storage/base/status.h"

namespace kprof {

// Those that the caller may see. Fails with kUsage for a negative page size, an unknown state or a token that is no
// session's id, with kQueueFull when no reader is free in time, and as the catalog does. `page` is empty before.
Status ReadSessionPage(const RpcParts& parts, const Caller& caller, const v1::ListSessionsRequest& request,
                       v1::ListSessionsResponse& page);

// `session_id` is a whole one, which the caller may see. Fails in the same ways; a page ends early above 1 MiB.
Status ReadRoundPage(const RpcParts& parts, const std::string& session_id, const v1::ListRoundsRequest& request,
                     v1::ListRoundsResponse& page);

}  // namespace kprof
