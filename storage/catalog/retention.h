// What is dropped first when results grow old or too many: ended, unpinned runs, oldest first; then sessions that have
// none left. Of runs it only decides; deleting is the caller's (daemon/runs), which knows what is in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// The last time that the catalog knows to have been: what a clock is compared with by those who remove what is old
// (expiry_clock.h). Functions over a Db; the one that changes it is for a Writer job.

// Unix ns: what was noted last; where nothing was, when the newest entry of the audit was written, or the newest run
// was queued. Nothing for a catalog in which nothing is.
Result<std::optional<int64_t>> ReadKnownTime(Db& db);

Status NoteKnownTime(Db& db, int64_t unix_ns);

// What each user has stored, in sums that the catalog's triggers keep: cheap at any size. A function over a Db.
struct OwnedSums {
  int64_t runs = 0;
  int64_t sessions = 0;
  int64_t bytes = 0;  // of artifacts, commands, environments and labels
  bool operator==(const OwnedSums&) const = default;
};

// Zeros for a user who has nothing.
Result<OwnedSums> ReadOwned(Db& db, uint32_t uid);

struct RetentionPolicy {
  int64_t max_age_ns = 0;          // 0: no limit
  int64_t max_artifact_bytes = 0;  // 0: no limit
  bool operator==(const RetentionPolicy&) const = default;
};

// Ids to delete, oldest first, at most `limit` of them: every run ended longer ago than max_age_ns, then as many more
// as bring the artifacts under max_artifact_bytes. Never an open or a pinned one.
Result<std::vector<std::string>> ChooseExpiredRuns(Db& db, const RetentionPolicy& policy, int64_t now_ns,
                                                   int64_t limit);

// Removes sessions that ended longer ago than max_age_ns and of which no run is left, oldest first, at most `limit` of
// them. For a Writer job.
Status DeleteExpiredSessions(Db& db, const RetentionPolicy& policy, int64_t now_ns, int64_t limit);

// Removes the oldest of the user's sessions that ended and of which no run is left; false: among the oldest thousand
// there is none. For a Writer job.
Result<bool> DeleteOldestEmptySession(Db& db, uint32_t uid);

// The bytes of artifacts that no policy removes: of open and pinned runs, and of run `id`, which is to stay.
// Walks the index of ended runs: not free in a large catalog.
Result<int64_t> ReadLastingArtifactBytes(Db& db, const std::string& id);

}  // namespace kprof
