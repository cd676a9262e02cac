// The catalog's tables, and the version of them that this build reads and writes (PRAGMA user_version). A database of
// another version is refused, never touched.
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// Whether a catalog is one of ours and its pages are sound, and the facts that say how it was left.

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

int CatalogVersion();

// Changes nothing. An empty database is fine. Fails with kStorageBroken when the database is not a kprof catalog
// (application_id), or is of another version: "it is version 7, from before the first release; this kprofd needs
// version 8; move the state folder away, ...".
Status CheckCatalog(Db& db);

// Makes the tables in an empty database, in one transaction; leaves a catalog alone. Fails as CheckCatalog does.
Status MakeCatalog(Db& db);

}  // namespace kprof
