// The catalog's tables, their version that this build writes (PRAGMA user_version), and the marks that say how a
// catalog was left. A catalog of version 8 or later is brought to this version when it is opened. A newer one, and one
// from before the first release, is refused and never touched.
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

// Checks the pages of a catalog. kStorageBroken, in SQLite's words and with `remedy`, when they are not sound. Reads
// all of it; blocking.
Status CheckPages(Db& db, const std::string& remedy);

// CheckCatalog of the file at `path`, before it is known to be ours to open: changes neither the file nor anything
// beside it. Passes when there is no file, and when it cannot be read, for example as somebody has it open: the real
// open reports that. `vfs`: as in Db::Options.
Status LookAtCatalog(const std::string& path, const char* vfs);

// Marks the catalog as consistent, as after a clean stop: the next start need not check it.
Status MarkClean(Db& db);

// Marks the catalog as a backup: clean, but older than the files beside it, and its open runs may have ended long
// since. The mark stays until a start has dealt with them.
Status MarkBackup(Db& db);
Result<bool> IsBackup(Db& db);
Status UnmarkBackup(Db& db);

int CatalogVersion();

// Changes nothing. An empty database is fine, and so is an earlier version that MakeCatalog brings up to date. Fails
// with kStorageBroken when the database is not a kprof catalog (application_id), or is of a version that this build
// does not read: "it is version 7, from before the first release; this kprofd reads version 8 and later; move the state
// folder away, ...".
Status CheckCatalog(Db& db);

// Makes the tables in an empty database, and brings a catalog of an earlier version to this one; leaves one of this
// version alone. One transaction: when it fails, the database is as it was. Fails as CheckCatalog does.
Status MakeCatalog(Db& db);

}  // namespace kprof
