// The catalog's tables as an ordered list of migrations, applied through PRAGMA user_version. Each migration is one
// transaction. A database from a newer version is refused, never touched.
#pragma once

#include "storage/base/status.h"
#include "storage/db.h"

namespace kprof {

// The version this build writes.
int CatalogVersion();

// Changes nothing. Fails with kStorageBroken when the database is not a kprof catalog (application_id), or is newer:
// "it is version 7, this kprofd knows up to 1; upgrade kprofd". An empty database is fine.
Status CheckCatalog(Db& db);

// Brings the database to CatalogVersion(). Fails as CheckCatalog does.
Status MigrateCatalog(Db& db);

}  // namespace kprof
