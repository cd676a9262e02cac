// Puts a backup in the catalog's place, while nobody serves from it. A crash at any moment leaves either the old
// catalog or the new one: the checked copy gets a name that every later start acts on, then the old one goes to a
// folder in lost/ with all its files, then the copy takes its name. Nothing in lost/ is ever overwritten. The leftovers
// of runs on devices (device_records.h) are taken from the old catalog, if it can be read. Blocking.
#pragma once

#include <optional>
#include <string>

#include "storage/base/files.h"
#include "storage/base/status.h"
#include "storage/db/layout.h"

namespace kprof {

struct RestoredCatalog {
  std::string replaced;  // where the catalog is that was there before; empty: there was none
};

// Takes the lock of the state folder for as long as it works; creates the folder when absent. Fails with kUsage while a
// daemon lives there, kBadInput for a file that is no backup of a catalog of this version, kStorageBroken for a damaged
// one, having changed nothing. Forgets an earlier restore that was interrupted, but keeps the files that it has put
// away. `vfs`: as in Db::Options.
Result<RestoredCatalog> RestoreCatalog(const Layout& layout, const std::string& backup_path, Files& files,
                                       const char* vfs = nullptr);

// Completes a restore that was interrupted; nothing when there was none. REQUIRES: the state folder's lock is held.
// When it fails, there may be no catalog.db at all, and nothing may create one.
Result<std::optional<RestoredCatalog>> FinishRestore(const Layout& layout, Files& files);

}  // namespace kprof
