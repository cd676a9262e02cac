// Finds the run or session that a client names, as it is now, if the caller may do to it what they ask. A name is an
// id, a unique beginning of one, @last, or @last~N for the N-th before it; only objects that the caller may see count.
// Fails with kUsage for a text that is no name or begins several ids, with kNotFound and kNotPermitted as
// permissions.h has them, and as the catalog does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/access/caller.h"
#include "daemon/access/permissions.h"
#include "daemon/base/io_loop.h"
#include "daemon/base/worker_pool.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/runs.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// The objects among which a name is looked up.
struct NamedObjects {
  const char* noun;    // "run"
  const char* remedy;  // "list yours with kprofctl runs"
  std::function<Result<std::string>(int64_t back)> recent;
  // At most two ids that begin so, newest first.
  std::function<Result<std::vector<std::string>>(const std::string& prefix)> starting;
};

// Turns a name into a whole id; a whole id is not looked up. `act` begins the message. Fails with kUsage for a text
// that is no name or begins several ids, with kNotFound, and as the look-ups do.
Result<std::string> ResolveName(const std::string& name, const NamedObjects& objects, const std::string& act);

// "cancel run 01j...": the act, and the name that the client gave, however long.
std::string ActOn(const std::string& act, const std::string& name);

// The parts that a look-up uses; borrowed, all outlive it.
struct LookupContext {
  IoLoop& loop;
  WorkerPool& workers;
  Catalog& catalog;
  Runs& runs;
  AuditLog& audit;
};

// Any thread, never blocking. `then` is called once, on the io loop, later, with the session as Sessions or the catalog
// has it. Fails with kQueueFull, too, when the workers take no more, or no reader is free in time.
void LookUpSession(const LookupContext& context, const Caller& caller, const std::string& name, Rpc rpc,
                   const std::string& act, std::function<void(Result<SessionRow>)> then);

// The same for a run.
void LookUpRun(const LookupContext& context, const Caller& caller, const std::string& name, Rpc rpc,
               const std::string& act, std::function<void(Result<RunRow>)> then);

// The run as the catalog has it. On a worker, with a lent reader. `act` ("cancel run") and the name begin the message
// of any failure. `audit` notes a caller who is refused a run that exists, also when the message says that there is
// none. Null: nothing is noted.
Result<RunRow> LookUpStoredRun(Db& db, AuditLog* audit, const Caller& caller, const std::string& name, Rpc rpc,
                               const std::string& act);

}  // namespace kprof
