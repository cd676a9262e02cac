#include "storage/catalog/catalog.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>
#include <vector>

#include "storage/catalog/catalog_restore.h"
#include "storage/catalog/catalog_schema.h"
#include "storage/db/db.h"
#include "storage/db/layout.h"
#include "storage/db/state_lock.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

// Of no pattern: some file systems would store zeros in no space at all.
std::vector<char> Noise() {
  std::vector<char> bytes(SpaceReserve::kBytes);
  std::minstd_rand random(1);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
  return bytes;
}

bool IsFilled(Files& files, const std::string& path) {
  Result<std::unique_ptr<File>> file = files.OpenForRead(path);
  if (!file.ok()) return false;
  Result<int64_t> size = (*file)->ReadSize();
  return size.ok() && *size == SpaceReserve::kBytes;
}

}  // namespace

bool SpaceReserve::Release() {
  MutexLock lock(mu_);
  return IsFilled(files_, path_) && files_.Remove(path_).ok();
}

Status SpaceReserve::Fill() {
  MutexLock lock(mu_);
  if (IsFilled(files_, path_)) return OkStatus();
  RETURN_IF_ERROR(files_.Remove(path_));  // of a try that a crash cut short
  Status filled = [&]() -> Status {
    ASSIGN_OR_RETURN(const int64_t free_bytes, files_.ReadFreeBytes(FolderOf(path_)));
    if (free_bytes < kBytes + kSpareBytes) {
      return Fail(ErrorCode::kStorageFull, "take " + std::to_string(kBytes) + " bytes",
                  std::to_string(free_bytes) + " are free", "free space on that file system");
    }
    ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.Create(path_));
    RETURN_IF_ERROR(file->Append(Noise()));
    return file->Sync();  // some file systems choose the blocks only now
  }();
  if (!filled.ok()) (void)files_.Remove(path_);
  return filled.In("reserve space");
}

bool SpaceReserve::is_held() {
  MutexLock lock(mu_);
  return IsFilled(files_, path_);
}

namespace {

constexpr size_t kReaders = 4;
constexpr size_t kReaderStatements = 32;
// All that is written again and again: compiling was a third of the writer's time.
constexpr size_t kWriterStatements = 128;
// A commit empties their caches anyway.
constexpr int64_t kReaderCacheBytes = 512 << 10;

// Makes the folder's name last, and those of the folders above, as far as we may open what they are in.
void SyncFoldersAbove(Files& files, std::string path) {
  for (std::string above = FolderOf(path); above != path; path = above, above = FolderOf(path)) {
    (void)files.SyncFolder(above);
    if (above == ".") return;
  }
}

int64_t SizeOf(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

int StopRequested(void* stop) noexcept {
  return static_cast<std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

constexpr const char* kReadCleanStop = "SELECT value FROM facts WHERE name = 'clean_stop'";
constexpr const char* kSetUnclean = "UPDATE facts SET value = 0 WHERE name = 'clean_stop' AND value <> 0";

}  // namespace

Catalog::Catalog(const Options& options, Files& files)
    : options_(options), files_(files), reserve_(files, options.layout.ReservePath()) {}

Result<std::unique_ptr<Catalog>> Catalog::Open(const Options& options, Files& files) {
  std::unique_ptr<Catalog> catalog(new Catalog(options, files));
  const std::string& folder = options.layout.state_folder;
  Status status = catalog->CheckIsOurs();
  if (status.ok()) status = CreateFolders(files, folder);
  if (status.ok()) {
    Result<std::unique_ptr<File>> lock = TakeStateLock(options.layout, files);
    status = lock.status();
    if (lock.ok()) catalog->lock_ = *std::move(lock);
  }
  if (status.ok()) {
    status = catalog->TakeOver();
    // On a full disk there is no room for what SQLite keeps beside an open database. Whoever is to make room needs us.
    if (status.code() == ErrorCode::kStorageFull && catalog->reserve_.Release()) status = catalog->TakeOver();
  }
  if (!status.ok()) return status.In("open catalog in state folder " + folder);
  (void)catalog->reserve_.Fill();  // else whoever keeps it (storage_room.h) goes on trying, and says so
  return catalog;
}

Catalog::~Catalog() {
  if (writer_ != nullptr) {
    (void)writer_->SubmitAndWait([](Db& db) { return MarkClean(db); });
  }
  readers_.reset();  // before the writer's last checkpoint, which they would stand in the way of
  writer_.reset();
}

// Before anything in the folder is touched, its lock included: it may be somebody else's, or of another version.
Status Catalog::CheckIsOurs() const {
  for (const std::string& path : {options_.layout.CatalogPath(), options_.layout.RestoredCatalogPath()}) {
    RETURN_IF_ERROR(LookAtCatalog(path, options_.vfs));
  }
  return OkStatus();
}

Status Catalog::TakeOver() {
  // Called again where the disk was full: the restore may have been finished the first time.
  ASSIGN_OR_RETURN(std::optional<RestoredCatalog> restored, FinishRestore(options_.layout, files_));
  if (restored) restored_ = std::move(restored);
  RETURN_IF_ERROR(files_.CreateFolder(options_.layout.RunsFolder()));
  return OpenDatabase();
}

// A catalog that is gone, or was emptied, while the files of its runs are there: a new one would disown them all.
Status Catalog::CheckIsNew() {
  ASSIGN_OR_RETURN(std::vector<FolderEntry> runs, files_.List(options_.layout.RunsFolder()));
  if (runs.empty()) return OkStatus();
  return Fail(ErrorCode::kStorageBroken, "create a catalog",
              "catalog.db is missing or empty, and runs/ holds the files of " + std::to_string(runs.size()) + " runs",
              RestoreRemedy(options_.layout.state_folder) + ", or move runs/ away to begin anew");
}

Status Catalog::OpenDatabase() {
  const std::string path = options_.layout.CatalogPath();
  const bool is_new = SizeOf(path) == 0;
  if (is_new) RETURN_IF_ERROR(CheckIsNew());
  ASSIGN_OR_RETURN(
      Db db, Db::Open(path, {.mode = Db::Mode::kReadWrite, .vfs = options_.vfs, .kept_statements = kWriterStatements}));
  RETURN_IF_ERROR(MakeCatalog(db));
  ASSIGN_OR_RETURN(int64_t was_clean, db.QueryInteger(kReadCleanStop));
  last_stop_was_unclean_ = was_clean == 0;
  ASSIGN_OR_RETURN(is_backup_, IsBackup(db));
  Status marked = db.Execute(kSetUnclean);
  // On a full disk it does without: should it crash then, the next start does not look for damage.
  if (!marked.ok() && marked.code() != ErrorCode::kStorageFull) return marked;
  if (is_new) {
    RETURN_IF_ERROR(files_.SyncFolder(options_.layout.state_folder));
    SyncFoldersAbove(files_, options_.layout.state_folder);
  }

  ReaderPool::Options readers{.limit = kReaders};
  readers.db = {.mode = Db::Mode::kReadOnly,
                .vfs = options_.vfs,
                .cache_bytes = kReaderCacheBytes,
                .kept_statements = kReaderStatements};
  readers_ = std::make_unique<ReaderPool>(path, readers);
  Writer::Options writer = options_.writer;
  writer.changes = &changes_;
  writer_ = std::make_unique<Writer>(std::move(db), writer);
  return OkStatus();
}

Status Catalog::ForgetBackup() {
  return writer_->SubmitAndWait([](Db& db) { return UnmarkBackup(db); });
}

Status Catalog::QuickCheck(std::stop_token stop) {
  // A connection of its own: a lent one would be missed for as long as this takes.
  ASSIGN_OR_RETURN(Db db, Db::Open(options_.layout.CatalogPath(), {.vfs = options_.vfs}));
  sqlite3_progress_handler(db.handle(), 10'000, StopRequested, &stop);
  if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "check catalog", "no longer wanted");
  return CheckPages(db, RestoreRemedy(options_.layout.state_folder));
}

Status Catalog::BackUp(const std::string& path, std::stop_token stop) {
  Status status = [&]() -> Status {
    const int64_t needed_bytes = ReadSizeBytes() + kBackUpSpareBytes;
    ASSIGN_OR_RETURN(int64_t free_bytes, files_.ReadFreeBytes(FolderOf(path)));
    if (free_bytes < needed_bytes) {
      return Fail(ErrorCode::kStorageFull, "make room for the copy",
                  "it takes " + std::to_string(needed_bytes) + " bytes free in " + FolderOf(path) + ", and there are " +
                      std::to_string(free_bytes),
                  "free some, or delete runs");
    }
    Result<std::unique_ptr<File>> created = files_.Create(path);
    if (created.ok()) return OkStatus();
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0) {
      return Fail(ErrorCode::kUsage, "create " + path, "it exists", "name a new file");
    }
    return created.status();
  }();
  if (!status.ok()) return status.In("back up catalog");
  status = CopyTo(path, std::move(stop));
  if (status.ok()) return OkStatus();
  (void)files_.Remove(path);
  (void)files_.Remove(path + "-journal");
  return status.In("back up catalog to " + path);
}

Status Catalog::CopyTo(const std::string& path, std::stop_token stop) {
  {
    ASSIGN_OR_RETURN(Db from, Db::Open(options_.layout.CatalogPath(), {.vfs = options_.vfs}));
    ASSIGN_OR_RETURN(Db to, Db::Open(path, {.mode = Db::Mode::kReadWrite, .wal = false, .vfs = options_.vfs}));
    RETURN_IF_ERROR(CopyDb(from, to, stop));
    RETURN_IF_ERROR(MarkBackup(to));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, files_.OpenForWrite(path));
  RETURN_IF_ERROR(file->Sync());
  return files_.SyncFolder(FolderOf(path));
}

Catalog::Sizes Catalog::ReadSizes() {
  const std::string path = options_.layout.CatalogPath();
  return {SizeOf(path), SizeOf(path + "-wal")};
}

int64_t Catalog::ReadSizeBytes() {
  const Sizes sizes = ReadSizes();
  return sizes.database_bytes + sizes.wal_bytes;
}

}  // namespace kprof
