// One SQLite connection: open flags, pragmas, transactions, and its kept statements. A Db belongs to one thread at a
// time (opened NOMUTEX). Knows no schema (catalog_schema.h) and no policy for user SQL (sandbox/).
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>

#include "storage/base/status.h"

namespace kprof {

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

// Prepared statements of one connection that nobody uses at the moment, by their text. Preparing a statement takes as
// long as running it ten times. Keeps one of each text; a full cache drops statements that come back.
//
// Belongs to the thread of its Db.
class StatementCache {
 public:
  explicit StatementCache(size_t limit) : limit_(limit) {}

  // Null when there is none.
  StatementHandle Take(std::string_view sql);
  void Return(StatementHandle statement);

  size_t size() const { return idle_.size(); }

 private:
  const size_t limit_;
  std::unordered_map<std::string, StatementHandle> idle_;  // reset, with nothing bound
};

// SQLite's error as a Status: SQLITE_FULL is kStorageFull, CORRUPT, NOTADB and IOERR are kStorageBroken (IOERR caused
// by ENOSPC is kStorageFull), INTERRUPT is kCancelled, BUSY is kQueueFull, AUTH and READONLY are kNotPermitted, TOOBIG
// is kUsage, CANTOPEN is what errno says (absent is kNotFound), the rest is kInternal. `db` may be null.
// REQUIRES: errno was 0 before the call that failed, and nothing was called since. SQLite leaves the reason of an IOERR
// or CANTOPEN there.
Status FailSqlite(sqlite3* db, int result, std::string what);

class Db {
 public:
  enum class Mode { kReadWrite, kReadOnly };
  struct Options {
    Mode mode = Mode::kReadOnly;
    // Only for kReadWrite. False: opening changes nothing in the file, the journal mode stays as it is, and closing
    // does not fold a WAL back. For a look before touching, and for copies that must stand alone.
    bool wal = true;
    // Only for kReadOnly: nobody will ever change the file, so nothing is locked, nor looked for beside it.
    bool immutable = false;
    // Only for kReadWrite without `wal`: as if nobody else had the file open, so that its WAL is read without the index
    // that SQLite keeps beside it. Fails with kQueueFull at once when somebody has it open.
    bool alone = false;
    // The SQLite VFS to go through; null is the system's. Tests put their faults here.
    const char* vfs = nullptr;
    int64_t cache_bytes = 1 << 20;
    int busy_timeout_ms = 5000;
    // The number of prepared statements that are kept for reuse; each takes some KiB.
    size_t kept_statements = 0;
  };

  // kReadWrite creates the file (mode 0600) when absent and sets WAL, synchronous=FULL, foreign_keys, a bounded WAL
  // size. Fails with kStorageBroken when the file is not a database, kNotFound when there is none to read.
  static Result<Db> Open(const std::string& path, const Options& options);

  Db(Db&&) noexcept = default;
  Db& operator=(Db&&) noexcept = default;

  // Runs one or more statements that return no rows.
  Status Execute(const char* sql);
  // The first column of the first row of a query without parameters.
  Result<int64_t> QueryInteger(const char* sql);

  // True while a transaction is open on this connection; a failed commit may have rolled back by itself.
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  int64_t changes() const { return sqlite3_changes64(handle_.get()); }
  sqlite3* handle() { return handle_.get(); }
  // Null when no statements are kept.
  StatementCache* statements() { return statements_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  explicit Db(sqlite3* handle) : handle_(handle) {}
  std::unique_ptr<sqlite3, Close> handle_;
  std::unique_ptr<StatementCache> statements_;  // goes before the connection
};

// Copies a database into another, page by page, as one snapshot, while others write to it. REQUIRES: `to` is empty. It
// then stands alone: it opens even where nothing may be written. Blocking, with pauses that leave the disk to others.
// kCancelled when told to stop. `from` holds its snapshot until it is closed.
Status CopyDb(Db& from, Db& to, const std::stop_token& stop);

}  // namespace kprof
