// From what a client calls a run (an id, a prefix, @last, @last~N) to the run as it is now, if the caller may do that
// with it. Names resolve within what the caller may see.
// Fails with kUsage for what is no name or begins several ids, with kNotFound and kNotPermitted as access_rules.h has
// them, and as the catalog does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/access/access_rules.h"
#include "daemon/access/caller.h"
#include "daemon/rpc/service_context.h"
#include "storage/base/status.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// From what a client calls a run or a session to its whole id: an id, a unique beginning of one, @last, or @last~N for
// the N-th before it. Names resolve within what the caller may see, which is up to who looks. Pure but for what it is
// given.

// Where names are looked up.
struct NamedObjects {
  const char* noun;    // "run"
  const char* remedy;  // "list yours with kprofctl runs"
  std::function<Result<std::string>(int64_t back)> recent;
  // At most two of those that begin so, newest first.
  std::function<Result<std::vector<std::string>>(const std::string& prefix)> starting;
};

// `act` begins the message. Fails with kUsage for what is no name or begins several ids, with kNotFound, and as the
// look-ups do. A whole id is not looked up.
Result<std::string> ResolveName(const std::string& name, const NamedObjects& objects, const std::string& act);

// "cancel run 01j...": the act and what the object was called, however long.
std::string ActOn(const std::string& act, const std::string& name);

// From what a client calls a session (an id, a prefix, @last, @last~N) to the session as it is now, if the caller may
// do that with it. Names resolve within what the caller may see. Fails, and is audited, as object_lookup.h does.

// Any thread, never blocking; an open session is as Sessions has it. `then` is called once, on the io loop, later.
void LookUpSession(const ServiceContext& parts, const Caller& caller, const std::string& name, Rpc rpc,
                   const std::string& act, std::function<void(Result<SessionRow>)> then);

// On a worker, with a lent reader. `act` ("cancel run") and the name begin the message of any failure. Who is refused a
// run that there is stands in `audit`, also when they are told that there is none; null: nobody keeps one.
Result<RunRow> LookUpStoredRun(Db& db, AuditLog* audit, const Caller& caller, const std::string& name, Rpc rpc,
                               const std::string& act);

// The same from any thread, never blocking, and an open run as Runs has it. `then` is called once, on the io loop,
// later. Fails with kQueueFull, too: when the workers take no more, or no reader is free in time.
void LookUpRun(const ServiceContext& parts, const Caller& caller, const std::string& name, Rpc rpc,
               const std::string& act, std::function<void(Result<RunRow>)> then);

}  // namespace kprof
