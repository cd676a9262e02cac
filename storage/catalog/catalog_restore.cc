#include "storage/catalog/catalog_restore.h"

#include <sys/stat.h>

#include <array>
#include <optional>
#include <vector>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/device_records.h"
#include "storage/db/db.h"
#include "storage/db/state_lock.h"

namespace kprof {
namespace {

bool IsThere(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

constexpr const char* kUseABackup = "use a file that kprofctl backup wrote";
constexpr const char* kUseOneOfThisVersion =
    "use a file that kprofctl backup wrote with this version of kprofd, or restore it with the version that wrote it";

// Before SQLite opens it: that would wait at a pipe, and blame the disk for a folder.
Status CheckHeader(const std::string& path, Files& files) {
  constexpr std::string_view kHeader("SQLite format 3\0", 16);
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.OpenForRead(path));
  std::string begin(kHeader.size(), '\0');
  ASSIGN_OR_RETURN(size_t size, file->ReadAt(0, begin));
  if (size == kHeader.size() && begin == kHeader) return OkStatus();
  return Fail(ErrorCode::kBadInput, "check the backup", "it is not a database", kUseABackup);
}

// By what CheckCatalog says of it.
Status RefuseBackup(const Status& checked) {
  if (checked.ok()) return checked;
  return Fail(ErrorCode::kBadInput, "check the backup", checked.why(), kUseOneOfThisVersion);
}

Status CheckBackup(Db& db) {
  RETURN_IF_ERROR(RefuseBackup(CheckCatalog(db)));
  RETURN_IF_ERROR(CheckPages(db, "use another backup"));
  ASSIGN_OR_RETURN(int64_t tables, db.QueryInteger("SELECT count(*) FROM sqlite_schema WHERE name = 'runs'"));
  if (tables == 1) return OkStatus();
  return Fail(ErrorCode::kBadInput, "check the backup", "it has no runs table: it is no backup of a catalog",
              kUseABackup);
}

// What runs left on this node's devices, by the catalog that goes. Nothing where it cannot say: it may be why somebody
// restores.
std::optional<std::vector<LeftoverRow>> KnownLeftovers(const Layout& layout, const char* vfs) {
  if (!IsThere(layout.CatalogPath())) return std::nullopt;
  Result<Db> db = Db::Open(layout.CatalogPath(), {.vfs = vfs});
  if (!db.ok() || !CheckCatalog(*db).ok()) return std::nullopt;
  Result<std::vector<LeftoverRow>> leftovers = ReadLeftovers(*db);
  return leftovers.ok() ? std::optional(*std::move(leftovers)) : std::nullopt;
}

// What is on the devices now counts, not what was there when the backup was made.
Status PutLeftovers(Db& copy, const std::vector<LeftoverRow>& leftovers) {
  ASSIGN_OR_RETURN(const std::vector<LeftoverRow> backed_up, ReadLeftovers(copy));
  for (const LeftoverRow& leftover : backed_up) RETURN_IF_ERROR(ForgetLeftover(copy, leftover));
  for (const LeftoverRow& leftover : leftovers) RETURN_IF_ERROR(NoteLeftover(copy, leftover));
  return OkStatus();
}

Status CopyMarked(Db& backup, const std::string& path, const std::optional<std::vector<LeftoverRow>>& leftovers,
                  const char* vfs) {
  ASSIGN_OR_RETURN(Db copy, Db::Open(path, {.mode = Db::Mode::kReadWrite, .wal = false, .vfs = vfs}));
  RETURN_IF_ERROR(CopyDb(backup, copy, {}));
  if (leftovers) RETURN_IF_ERROR(PutLeftovers(copy, *leftovers));
  return MarkBackup(copy);
}

// Once it returns, the restore will happen, now or at the next start.
Status StageRestore(const std::string& backup_path, const Layout& layout, Files& files, const char* vfs) {
  const std::string copy_path = layout.RestoredCatalogPath() + ".partial";
  Status staged = [&]() -> Status {
    RETURN_IF_ERROR(files.Remove(copy_path));
    RETURN_IF_ERROR(files.Remove(copy_path + "-journal"));
    {
      ASSIGN_OR_RETURN(Db backup, Db::Open(backup_path, {.vfs = vfs}));
      RETURN_IF_ERROR(CheckBackup(backup));
      RETURN_IF_ERROR(CopyMarked(backup, copy_path, KnownLeftovers(layout, vfs), vfs));
    }
    {
      ASSIGN_OR_RETURN(std::unique_ptr<File> file, files.OpenForWrite(copy_path));
      RETURN_IF_ERROR(file->Sync());
    }
    return files.Rename(copy_path, layout.RestoredCatalogPath());
  }();
  if (staged.ok()) return OkStatus();
  (void)files.Remove(copy_path);
  (void)files.Remove(copy_path + "-journal");
  return staged;
}

// The WAL last: an old database that has lost it would be older than it was, a new one that found it would break.
constexpr const char* kParts[] = {"-shm", "", "-wal"};

std::string GatheredPath(const Layout& layout, const std::string& part) {
  return layout.ReplacedFolder() + "/catalog.db" + part;
}

// To a name in lost/ that nothing has. Returns it.
Result<std::string> PutGatheredAway(const Layout& layout, Files& files) {
  RETURN_IF_ERROR(files.CreateFolder(layout.LostFolder()));
  // Counted from the staged copy's time, so that a person can tell them apart.
  struct stat copy {};
  (void)::lstat(layout.RestoredCatalogPath().c_str(), &copy);
  std::string lost;
  for (int64_t number = copy.st_mtime; lost.empty() || IsThere(lost); ++number) {
    lost = layout.LostFolder() + "/catalog-" + std::to_string(number);
  }
  RETURN_IF_ERROR(files.Rename(layout.ReplacedFolder(), lost));
  RETURN_IF_ERROR(files.SyncFolder(layout.LostFolder()));
  RETURN_IF_ERROR(files.SyncFolder(layout.state_folder));
  return lost;
}

// The old catalog's files meet in a folder that has the same name at each attempt, and go to lost/ together: neither an
// interruption nor another restore takes one of them from the others, or another catalog's place. Returns where the
// database is then; empty when there was none.
Result<std::string> PutOldAway(const Layout& layout, Files& files) {
  for (const char* part : kParts) {
    const std::string path = layout.CatalogPath() + part;
    if (!IsThere(path)) continue;
    // Of yet another catalog, put there by hand since the attempt before.
    if (IsThere(GatheredPath(layout, part))) RETURN_IF_ERROR(PutGatheredAway(layout, files).status());
    RETURN_IF_ERROR(files.CreateFolder(layout.ReplacedFolder()));
    RETURN_IF_ERROR(files.Rename(path, GatheredPath(layout, part)));
  }
  if (!IsThere(layout.ReplacedFolder())) return std::string();
  RETURN_IF_ERROR(files.SyncFolder(layout.ReplacedFolder()));
  RETURN_IF_ERROR(files.SyncFolder(layout.state_folder));
  const bool has_database = IsThere(GatheredPath(layout, ""));
  ASSIGN_OR_RETURN(std::string lost, PutGatheredAway(layout, files));
  return has_database ? lost + "/catalog.db" : std::string();
}

}  // namespace

Result<RestoredCatalog> RestoreCatalog(const Layout& layout, const std::string& backup_path, Files& files,
                                       const char* vfs) {
  const std::string act = "restore the catalog from " + backup_path;
  auto stage = [&]() -> Result<std::unique_ptr<File>> {
    // Before anything is touched.
    RETURN_IF_ERROR(CheckHeader(backup_path, files));
    RETURN_IF_ERROR(RefuseBackup(LookAtCatalog(backup_path, vfs)));
    RETURN_IF_ERROR(CreateFolders(files, layout.state_folder));
    ASSIGN_OR_RETURN(std::unique_ptr<File> lock, TakeStateLock(layout, files));
    RETURN_IF_ERROR(StageRestore(backup_path, layout, files, vfs));
    return lock;
  };
  Result<std::unique_ptr<File>> lock = stage();
  if (!lock.ok()) return lock.status().In(act);
  Result<std::optional<RestoredCatalog>> restored = FinishRestore(layout, files);
  if (!restored.ok()) {
    const Status& why = restored.status();
    return Fail(why.code(), act, why.what() + ": " + why.why(),
                why.remedy() + "; the next start, or doing this again, completes it");
  }
  return restored->value_or(RestoredCatalog());
}

Result<std::optional<RestoredCatalog>> FinishRestore(const Layout& layout, Files& files) {
  if (!IsThere(layout.RestoredCatalogPath())) return std::optional<RestoredCatalog>();
  RestoredCatalog restored;
  Status finished = [&]() -> Status {
    RETURN_IF_ERROR(files.SyncFolder(layout.state_folder));
    ASSIGN_OR_RETURN(restored.replaced, PutOldAway(layout, files));
    RETURN_IF_ERROR(files.Rename(layout.RestoredCatalogPath(), layout.CatalogPath()));
    return files.SyncFolder(layout.state_folder);
  }();
  if (!finished.ok()) return finished.In("put the restored catalog in place");
  return std::optional<RestoredCatalog>(restored);
}

}  // namespace kprof
