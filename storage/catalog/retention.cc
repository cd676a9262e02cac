#include "storage/catalog/retention.h"

#include "storage/catalog/run_list.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

// Newest by id, not by time: what was written while the clock was wrong is not the last word.
constexpr const char* kSelectKnownTime = R"sql(
SELECT coalesce((SELECT value FROM facts WHERE name = 'known_ns'),
                (SELECT time_ns FROM audit ORDER BY id DESC LIMIT 1),
                (SELECT queued_ns FROM runs ORDER BY id DESC LIMIT 1))
)sql";

constexpr const char* kNote = "INSERT OR REPLACE INTO facts (name, value) VALUES ('known_ns', ?1)";

}  // namespace

Result<std::optional<int64_t>> ReadKnownTime(Db& db) {
  Statement select(db, kSelectKnownTime);
  if (!select.Next()) return select.status();
  return select.MaybeInteger(0);
}

Status NoteKnownTime(Db& db, int64_t unix_ns) {
  Statement note(db, kNote);
  return note.Bind(1, unix_ns).Run();
}

Result<OwnedSums> ReadOwned(Db& db, uint32_t uid) {
  Statement select(db, "SELECT runs, sessions, bytes FROM owners WHERE uid = ?1");
  select.Bind(1, int64_t{uid});
  OwnedSums sums;
  if (select.Next()) sums = {select.Integer(0), select.Integer(1), select.Integer(2)};
  RETURN_IF_ERROR(select.status());
  return sums;
}

namespace {

// An ordered walk of the index, stopped as soon as neither rule wants more.
constexpr const char* kSelectEnded = R"sql(
SELECT id, ended_ns, (SELECT total(size_bytes) FROM artifacts WHERE run_id = runs.id)
         + (SELECT total(bytes) FROM trace_parts WHERE run_id = runs.id)
FROM runs INDEXED BY runs_by_end
WHERE state >= 4 AND pinned = 0 AND ended_ns IS NOT NULL ORDER BY ended_ns, id
)sql";

constexpr const char* kSumRemovable = R"sql(
SELECT total((SELECT total(size_bytes) FROM artifacts WHERE run_id = runs.id)
           + (SELECT total(bytes) FROM trace_parts WHERE run_id = runs.id))
FROM runs INDEXED BY runs_by_end
WHERE state >= 4 AND pinned = 0 AND ended_ns IS NOT NULL AND id <> ?1
)sql";

constexpr const char* kDeleteSessions = R"sql(
DELETE FROM sessions WHERE id IN (
  SELECT id FROM sessions AS s
  WHERE s.state >= 3 AND s.closed_ns < ?1
    AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_by_session WHERE session_id = s.id)
  ORDER BY id LIMIT ?2)
)sql";

// Others wait for the transaction that looks.
constexpr int64_t kOldestLookedAt = 1000;

constexpr const char* kDeleteOldestSession = R"sql(
DELETE FROM sessions WHERE id = (
  SELECT id FROM (SELECT id, state FROM sessions INDEXED BY sessions_by_owner WHERE uid = ?1 ORDER BY id LIMIT ?2) AS s
  WHERE s.state >= 3 AND NOT EXISTS (SELECT 1 FROM runs INDEXED BY runs_by_session WHERE session_id = s.id)
  ORDER BY id LIMIT 1)
)sql";

}  // namespace

Result<std::vector<std::string>> ChooseExpiredRuns(Db& db, const RetentionPolicy& policy, int64_t now_ns,
                                                   int64_t limit) {
  std::vector<std::string> ids;
  if (policy.max_age_ns == 0 && policy.max_artifact_bytes == 0) return ids;
  ASSIGN_OR_RETURN(CatalogCounts counts, ReadCounts(db));
  int64_t artifact_bytes = counts.artifact_bytes;

  Statement ended(db, kSelectEnded);
  while (static_cast<int64_t>(ids.size()) < limit && ended.Next()) {
    bool too_old = policy.max_age_ns > 0 && ended.Integer(1) < now_ns - policy.max_age_ns;
    bool too_much = policy.max_artifact_bytes > 0 && artifact_bytes > policy.max_artifact_bytes;
    if (!too_old && !too_much) break;
    int64_t size_bytes = ended.Integer(2);
    if (!too_old && size_bytes == 0) continue;  // deleting it would not help
    artifact_bytes -= size_bytes;
    ids.emplace_back(ended.Text(0));
  }
  RETURN_IF_ERROR(ended.status());
  return ids;
}

Status DeleteExpiredSessions(Db& db, const RetentionPolicy& policy, int64_t now_ns, int64_t limit) {
  if (policy.max_age_ns == 0) return OkStatus();
  Statement remove(db, kDeleteSessions);
  return remove.Bind(1, now_ns - policy.max_age_ns).Bind(2, limit).Run();
}

Result<bool> DeleteOldestEmptySession(Db& db, uint32_t uid) {
  Statement remove(db, kDeleteOldestSession);
  RETURN_IF_ERROR(remove.Bind(1, int64_t{uid}).Bind(2, kOldestLookedAt).Run());
  return db.changes() > 0;
}

Result<int64_t> ReadLastingArtifactBytes(Db& db, const std::string& id) {
  ASSIGN_OR_RETURN(CatalogCounts counts, ReadCounts(db));
  Statement removable(db, kSumRemovable);
  removable.BindText(1, id);
  if (!removable.Next()) return removable.status();
  return counts.artifact_bytes - removable.Integer(0);
}

}  // namespace kprof
