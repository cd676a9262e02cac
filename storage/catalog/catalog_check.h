// Whether a catalog's pages are sound, and the fact that says how it was left.
#pragma once

#include <string>

#include "storage/base/status.h"
#include "storage/db.h"

namespace kprof {

// kStorageBroken, in SQLite's words and with `remedy`, when they are not. Reads all of it; blocking.
Status CheckPages(Db& db, const std::string& remedy);

// Consistent, as after a clean stop: the next start need not check it.
Status MarkClean(Db& db);

}  // namespace kprof
