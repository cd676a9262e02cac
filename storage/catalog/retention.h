// Retention: which results go first when they are too old or too many. Ended, unpinned runs go first, oldest first;
// then sessions that have no run left. Runs are only chosen here; the caller (daemon/runs), which knows what is in use,
// deletes them. Also the facts that retention needs: the last known time, and sums per owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// The last time (Unix ns) that the catalog knows: those who remove old results compare a clock with it
// (expiry_clock.h). It is the time that was noted last; without one, the time of the newest audit entry, or of the
// newest run's queueing. Nothing for an empty catalog. NoteKnownTime is for a Writer job.
Result<std::optional<int64_t>> ReadKnownTime(Db& db);

Status NoteKnownTime(Db& db, int64_t unix_ns);

// Sums of what one user has stored. The catalog's triggers keep them: cheap at any size. A function over a Db.
struct OwnedSums {
  int64_t runs = 0;
  int64_t sessions = 0;
  int64_t bytes = 0;  // of artifacts, traces, commands, environments and labels
  bool operator==(const OwnedSums&) const = default;
};

// Zeros for a user who has nothing.
Result<OwnedSums> ReadOwned(Db& db, uint32_t uid);

struct RetentionPolicy {
  int64_t max_age_ns = 0;          // 0: no limit
  int64_t max_artifact_bytes = 0;  // 0: no limit
  bool operator==(const RetentionPolicy&) const = default;
};

// Ids to delete, oldest first, at most `limit` of them: all runs that ended longer ago than max_age_ns, then as many
// more as bring the artifacts under max_artifact_bytes. Never an open or a pinned one.
Result<std::vector<std::string>> ChooseExpiredRuns(Db& db, const RetentionPolicy& policy, int64_t now_ns,
                                                   int64_t limit);

// Removes sessions that ended longer ago than max_age_ns and have no run left, oldest first, at most `limit` of them.
// For a Writer job.
Status DeleteExpiredSessions(Db& db, const RetentionPolicy& policy, int64_t now_ns, int64_t limit);

// Removes the oldest of the user's sessions that ended and have no run left; false: there is none among the oldest
// thousand. For a Writer job.
Result<bool> DeleteOldestEmptySession(Db& db, uint32_t uid);

// The bytes of artifacts that no policy removes: those of open and pinned runs, and of run `id`, which is to stay.
// Walks the index of ended runs: not free in a large catalog.
Result<int64_t> ReadLastingArtifactBytes(Db& db, const std::string& id);

}  // namespace kprof
