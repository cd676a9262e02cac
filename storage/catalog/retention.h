// What is dropped first when results grow old or too many: ended, unpinned runs, oldest first; then sessions that have
// none left. Of runs it only decides; deleting is the caller's (daemon/runs), which knows what is in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

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
