// Puts a backup in the catalog's place, while nobody serves from it, so that a crash at any moment leaves either the
// old catalog or the new one: the checked copy gets a name that every later start acts on, then the old one goes to a
// folder in lost/ with all its files, then the copy takes its name. Nothing in lost/ is ever overwritten. What runs
// left on devices (device_records.h) stays as the old catalog knows it, where that can be read. Blocking.
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

// Takes the lock of the state folder, which is created when absent, for as long as it takes. Fails with kUsage while a
// daemon lives there, kBadInput for what is no backup of a catalog of this version, kStorageBroken for a damaged one,
// having changed nothing. One that was interrupted is forgotten, but for what it has put away. `vfs`: as in
// Db::Options.
Result<RestoredCatalog> RestoreCatalog(const Layout& layout, const std::string& backup_path, Files& files,
                                       const char* vfs = nullptr);

// Does what is left of a restore that was interrupted; nothing when there was none. REQUIRES: the state folder's lock
// is held. When it fails, there may be no catalog.db at all: nothing may create one.
Result<std::optional<RestoredCatalog>> FinishRestore(const Layout& layout, Files& files);

}  // namespace kprof
