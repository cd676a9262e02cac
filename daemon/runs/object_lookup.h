// From what a client calls a run (an id, a prefix, @last, @last~N) to the run as it is now, if the caller may do that
// with it. Names resolve within what the caller may see.
// Fails with kUsage for what is no name or begins several ids, with kNotFound and kNotPermitted as access_rules.h has
// them, and as the catalog does.
#pragma once

#include <functional>
#include <string>

#include "daemon/access/access_rules.h"
#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"

namespace kprof {

// On a worker, with a lent reader. `act` ("cancel run") and the name begin the message of any failure. Who is refused a
// run that there is stands in `audit`, also when they are told that there is none; null: nobody keeps one.
Result<RunRow> LookUpStoredRun(Db& db, AuditLog* audit, const Caller& caller, const std::string& name, Rpc rpc,
                               const std::string& act);

// The same from any thread, never blocking, and an open run as Runs has it. `then` is called once, on the io loop,
// later. Fails with kQueueFull, too: when the workers take no more, or no reader is free in time.
void LookUpRun(const ServiceContext& parts, const Caller& caller, const std::string& name, Rpc rpc,
               const std::string& act, std::function<void(Result<RunRow>)> then);

}  // namespace kprof
