// From what a client calls a session (an id, a prefix, @last, @last~N) to the session as it is now, if the caller may
// do that with it. Names resolve within what the caller may see. Fails, and is audited, as object_lookup.h does.
#pragma once

#include <functional>
#include <string>

#include "daemon/access/access_rules.h"
#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// Any thread, never blocking; an open session is as Sessions has it. `then` is called once, on the io loop, later.
void LookUpSession(const ServiceContext& parts, const Caller& caller, const std::string& name, Rpc rpc,
                   const std::string& act, std::function<void(Result<SessionRow>)> then);

}  // namespace kprof
