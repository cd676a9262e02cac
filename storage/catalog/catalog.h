// The catalog of all runs, in catalog.db. Owns the writer, the readers, the lock on the state folder, the reserve of
// space and the marks that tell a clean stop from a crash. Rows are run_table.h and run_list.h, retention is
// retention.h.
//
// Any thread. Open blocks (start-up only).
//
// Only SQLite may open catalog.db in this process: closing any other descriptor of it would drop the locks that SQLite
// holds on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "storage/base/files.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"
#include "storage/catalog/catalog_restore.h"
#include "storage/db/layout.h"
#include "storage/db/reader_pool.h"
#include "storage/db/writer.h"

namespace kprof {

// A file that takes up a little of the disk for nothing. On a full disk it gives room to acts that make room or must
// not be lost: a start, a delete, the end of a run. Blocking, any thread.
class SpaceReserve {
 public:
  // Enough for the commits of a few deletes and ends, and for the files that SQLite keeps beside an open database.
  static constexpr int64_t kBytes = 1 << 20;

  SpaceReserve(Files& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Gives the space free. False when there was nothing to give.
  bool Release();

  // The least that Fill leaves free: it must not take the room of what is being written.
  static constexpr int64_t kSpareBytes = 128 << 10;

  // Takes the space again, or for the first time. Leaves nothing behind when it fails; fails with kStorageFull, having
  // written nothing, where less than kSpareBytes would be left.
  Status Fill();

  bool is_held();

 private:
  Files& files_;
  const std::string path_;
  Mutex mu_;  // one at a time at the file
};

class Catalog {
 public:
  struct Options {
    Layout layout;
    const char* vfs = nullptr;
    Writer::Options writer;
  };

  // Creates the state folder (0700) and the database when absent, takes the lock, completes a restore, notes that the
  // catalog is in use. Fails, having touched nothing, with kStorageBroken when the database is not a kprof catalog or
  // is of another version. Fails as TakeStateLock does when another daemon lives there, and with kStorageBroken when
  // the database is gone while its runs' files are there.
  // On a full disk an existing catalog opens, with the space of the reserve if need be. Else the reserve is taken
  // before this returns: no run comes before it.
  static Result<std::unique_ptr<Catalog>> Open(const Options& options, Files& files);

  // Notes a clean stop as the last commit.
  ~Catalog();

  Writer& writer() { return *writer_; }
  ReaderPool& readers() { return *readers_; }
  const Layout& layout() const { return options_.layout; }
  // Counts changes of the catalog, and of facts that its owners know and have not stored yet: those owners bump it.
  ChangeCounter& changes() { return changes_; }

  // The restore that this start has completed.
  const std::optional<RestoredCatalog>& restored() const { return restored_; }

  // Space that a delete, or the end of a run, may use on a full disk.
  SpaceReserve& reserve() { return reserve_; }

  // True if the last daemon ended without a clean stop; then QuickCheck is worth its time.
  bool last_stop_was_unclean() const { return last_stop_was_unclean_; }

  // True if this is a restored backup and no start has dealt with its open runs yet: the catalog does not know what
  // became of them. ForgetBackup says that they have been dealt with; blocking.
  bool is_backup() const { return is_backup_; }
  Status ForgetBackup();

  // PRAGMA quick_check: kStorageBroken with SQLite's first complaint. Seconds for a large catalog; from a worker.
  Status QuickCheck(std::stop_token stop);

  // Makes a consistent copy of the live catalog in a new file at `path` (online backup; catalog_restore.h puts it
  // back). Goes on while writers write. Removes the copy when it fails or is stopped. Fails with kUsage when `path`
  // exists, with kStorageFull, having written nothing, when the copy would leave less than kBackUpSpareBytes free. From
  // a worker.
  Status BackUp(const std::string& path, std::stop_token stop);
  static constexpr int64_t kBackUpSpareBytes = 64 << 20;

  struct Sizes {
    int64_t database_bytes = 0;
    int64_t wal_bytes = 0;
  };
  Sizes ReadSizes();
  // Size of the database with its WAL.
  int64_t ReadSizeBytes();

 private:
  Catalog(const Options& options, Files& files);
  Status CheckIsOurs() const;
  Status TakeOver();
  Status CheckIsNew();
  Status OpenDatabase();
  Status CopyTo(const std::string& path, std::stop_token stop);

  const Options options_;
  Files& files_;
  SpaceReserve reserve_;
  std::unique_ptr<File> lock_;
  std::optional<RestoredCatalog> restored_;
  bool last_stop_was_unclean_ = false;
  bool is_backup_ = false;
  ChangeCounter changes_;
  std::unique_ptr<ReaderPool> readers_;
  std::unique_ptr<Writer> writer_;
};

}  // namespace kprof
