// Runs in the catalog: insert, update, find, list, delete. Functions over a Db, for use inside a Writer job (the ones
// that change) or on a lent reader (the ones that read). Decides nothing about who may see what: callers pass `uid`
// to narrow, or nothing for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/status.h"
#include "storage/catalog/run_row.h"
#include "storage/db.h"

namespace kprof {

// With all that hangs on it. Fails with kUsage when the id or (uid, idempotency_key) is taken, or when an argument or
// the environment has a zero byte.
Status InsertRun(Db& db, const RunRow& run);

// State, shared, attached, times, exit, error, output sizes, trust, artifacts and metrics become those of `run`
// (devices, labels, command, owner and limits never change after InsertRun; pinned is only changed by SetPinned). Fails
// with kNotFound.
Status UpdateRun(Db& db, const RunRow& run);

Status SetPinned(Db& db, const std::string& id, bool pinned);

// Adds one artifact; one of that name is replaced. Fails with kNotFound for an unknown run.
Status AddArtifact(Db& db, const std::string& run_id, const ArtifactRow& artifact);

// The run and all that hangs on it. Fails with kNotFound.
Status DeleteRun(Db& db, const std::string& id);

Result<RunRow> ReadRun(Db& db, const std::string& id);  // kNotFound
// Nothing when there is none; a failure to look is a failure, else a retried request would start a second run.
Result<std::optional<RunRow>> ReadRunByKey(Db& db, uint32_t uid, const std::string& idempotency_key);

// Runs that have not ended, oldest first: what a restart has to deal with. Bounded work: uses a partial index.
Result<std::vector<RunRow>> ReadOpenRuns(Db& db);

// The newest id; empty for an empty catalog.
Result<std::string> ReadLastRunId(Db& db);

struct RunFilter {
  std::optional<uint32_t> uid;                              // owner, or shared runs of others
  std::vector<std::pair<std::string, std::string>> labels;  // all must match; the first is looked up, name the rarest
  std::vector<std::string> tools;                           // any; empty: all
  std::vector<RunState> states;                             // any; empty: all
  std::string before_id;                                    // only older than this one (exclusive): the paging cursor
  int64_t limit = 100;                                      // REQUIRES: 1..1000
};
// Newest first. Fails with kUsage for more than 100 labels or tools.
Result<std::vector<RunRow>> ListRuns(Db& db, const RunFilter& filter);

// Ids that start with `prefix`, newest first, at most `limit`.
Result<std::vector<std::string>> FindRunIds(Db& db, const std::string& prefix, std::optional<uint32_t> uid,
                                            int64_t limit);
// The id `back` places before the newest. kNotFound when there are not as many.
Result<std::string> ReadRecentRunId(Db& db, int64_t back, std::optional<uint32_t> uid);

struct CatalogCounts {
  int64_t runs = 0;
  int64_t artifact_bytes = 0;
};
// Cheap at any size: kept by triggers, not counted.
Result<CatalogCounts> ReadCounts(Db& db);

}  // namespace kprof
