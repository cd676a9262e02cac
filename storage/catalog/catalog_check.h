// Whether a catalog's pages are sound, and the facts that say how it was left.
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/db.h"

namespace kprof {

// kStorageBroken, in SQLite's words and with `remedy`, when they are not. Reads all of it; blocking.
Status CheckPages(Db& db, const std::string& remedy);

// Consistent, as after a clean stop: the next start need not check it.
Status MarkClean(Db& db);

// A backup: clean, and older than whatever it is put beside, where its open runs may have ended long since. The mark
// stays until a start has seen to them. Catalogs of earlier versions are without it.
Status MarkBackup(Db& db);
Result<bool> IsBackup(Db& db);
Status UnmarkBackup(Db& db);

}  // namespace kprof
