// The catalog's tables, and the version of them that this build reads and writes (PRAGMA user_version). A database of
// another version is refused, never touched.
#pragma once

#include "storage/base/status.h"
#include "storage/db/db.h"

namespace kprof {

int CatalogVersion();

// Changes nothing. An empty database is fine. Fails with kStorageBroken when the database is not a kprof catalog
// (application_id), or is of another version: "it is version 7, from before the first release; this kprofd needs
// version 8; move the state folder away, ...".
Status CheckCatalog(Db& db);

// Makes the tables in an empty database, in one transaction; leaves a catalog alone. Fails as CheckCatalog does.
Status MakeCatalog(Db& db);

}  // namespace kprof
