// SessionsService.OpenSession: opens a session or takes one up again, tells how it stands, and holds an attached one
// while it lasts. One that nobody has heard of when it ends is closed. It lives on the io loop, where the session does;
// a slow reader misses intermediate states, never the last.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "daemon/rpc/service_context.h"
#include "daemon/rpc/streams/call_record.h"
#include "kprof/v1/sessions.pb.h"

namespace kprof {

// Any thread. Owns itself; `request` is read before it returns. `parts` outlives it.
grpc::ServerWriteReactor<v1::OpenSessionResponse>* StartOpenSession(CallRecord record, const ServiceContext& parts,
                                                                    const v1::OpenSessionRequest& request);

}  // namespace kprof
