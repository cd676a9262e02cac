// One run in the catalog: insert, update, read, delete. Functions over a Db; those that change it are for a Writer job.
// Which runs there are is run_list.h.
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db/db.h"

namespace kprof {

// With all that hangs on it. Fails with kUsage when the id, (uid, idempotency_key) or (session_id, round) is taken, or
// when an argument or the environment has a zero byte.
Status InsertRun(Db& db, const RunRow& run);

// State, shared, attached, timeout, times, exit, error, output sizes, trust, artifacts and metrics become those of
// `run` (devices, labels, command, owner, session, round, priority, starter and queue timeout never change after
// InsertRun; pinned is only changed by SetPinned). Fails with kNotFound.
Status UpdateRun(Db& db, const RunRow& run);

Status SetPinned(Db& db, const std::string& id, bool pinned);

// Adds one artifact; one of that name is replaced. Fails with kNotFound for an unknown run.
Status AddArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact);

// The run and all that hangs on it. Fails with kNotFound.
Status DeleteRun(Db& db, const std::string& id);

Result<RunRow> ReadRun(Db& db, const std::string& id);  // kNotFound

}  // namespace kprof
