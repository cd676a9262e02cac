// Whether a catalog is one of ours and its pages are sound, and the facts that say how it was left.
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// kStorageBroken, in SQLite's words and with `remedy`, when they are not. Reads all of it; blocking.
Status CheckPages(Db& db, const std::string& remedy);

// CheckCatalog (catalog_schema.h) of the file at `path`, without a change of it or of anything beside it: before it is
// known to be ours to open. Passes where there is none, and where it cannot be read, be it that somebody has it open:
// who opens it then says so. `vfs`: as in Db::Options.
Status LookAtCatalog(const std::string& path, const char* vfs);

// Consistent, as after a clean stop: the next start need not check it.
Status MarkClean(Db& db);

// A backup: clean, and older than whatever it is put beside, where its open runs may have ended long since. The mark
// stays until a start has seen to them.
Status MarkBackup(Db& db);
Result<bool> IsBackup(Db& db);
Status UnmarkBackup(Db& db);

}  // namespace kprof
