// The catalog's tables as an ordered list of migrations, applied through PRAGMA user_version. Each migration is one
// transaction. A database from a newer version is refused, never touched.
#pragma once

#include "storage/base/status.h"
#include "storage/db.h"

namespace kprof {

// The version this build writes.
int CatalogVersion();

// Brings the database to CatalogVersion(). Fails with kStorageBroken when it is not a kprof catalog (application_id),
// or is newer: "catalog is version 7, this kprofd knows up to 1; upgrade kprofd".
Status MigrateCatalog(Db& db);

}  // namespace kprof
