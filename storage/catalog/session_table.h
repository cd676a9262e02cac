// One session in the catalog: insert, update, read, and the numbers of its rounds. Functions over a Db; those that
// change it are for a Writer job. Which sessions there are is session_list.h.
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/status.h"
#include "storage/catalog/session_row.h"
#include "storage/db/db.h"

namespace kprof {

// With its devices, labels and trust. Fails with kUsage when the id is taken.
Status InsertSession(Db& db, const SessionRow& session);

// State, times and error become those of `session` (all else never changes after InsertSession; last_round is only
// changed by TakeRound). Fails with kNotFound.
Status UpdateSession(Db& db, const SessionRow& session);

// The number of the session's next round, from 1. Fails with kLeaseLost when it neither waits nor is open, or is not
// there.
Result<int64_t> TakeRound(Db& db, const std::string& session_id);

Result<SessionRow> ReadSession(Db& db, const std::string& id);  // kNotFound

}  // namespace kprof
