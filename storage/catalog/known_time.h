// The last time that the catalog knows to have been: what a clock is compared with by those who remove what is old
// (expiry_clock.h). Functions over a Db; the one that changes it is for a Writer job.
#pragma once

#include <cstdint>
#include <optional>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// Unix ns: what was noted last; where nothing was, when the newest entry of the audit was written, or the newest run
// was queued. Nothing for a catalog in which nothing is.
Result<std::optional<int64_t>> ReadKnownTime(Db& db);

Status NoteKnownTime(Db& db, int64_t unix_ns);

}  // namespace kprof
