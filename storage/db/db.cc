#include "storage/db/db.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "storage/base/descriptors.h"
#include "storage/base/files.h"
#include "storage/db/layout.h"
#include "storage/db/statement.h"

namespace kprof {

StatementHandle StatementCache::Take(std::string_view sql) {
  auto found = idle_.find(std::string(sql));
  if (found == idle_.end()) return nullptr;
  StatementHandle statement = std::move(found->second);
  idle_.erase(found);
  return statement;
}

void StatementCache::Return(StatementHandle statement) {
  if (idle_.size() >= limit_) return;
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  std::string sql = sqlite3_sql(statement.get());
  idle_.emplace(std::move(sql), std::move(statement));
}

namespace {

constexpr int kStepPages = 256;
constexpr auto kCopyPause = std::chrono::milliseconds(2);

struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

}  // namespace

Status CopyDb(Db& from, Db& to, const std::stop_token& stop) {
  // One snapshot for the whole copy; else each commit in the meantime would make it begin anew.
  RETURN_IF_ERROR(from.Execute("BEGIN"));
  RETURN_IF_ERROR(from.QueryInteger("SELECT count(*) FROM sqlite_schema").status());
  std::unique_ptr<sqlite3_backup, FinishBackup> backup(sqlite3_backup_init(to.handle(), "main", from.handle(), "main"));
  if (backup == nullptr) return FailSqlite(to.handle(), sqlite3_extended_errcode(to.handle()), "begin to copy");
  int result = SQLITE_OK;
  while (result == SQLITE_OK) {
    if (stop.stop_requested()) return Fail(ErrorCode::kCancelled, "copy pages", "no longer wanted");
    errno = 0;
    result = sqlite3_backup_step(backup.get(), kStepPages);
    if (result == SQLITE_OK) std::this_thread::sleep_for(kCopyPause);
  }
  if (result != SQLITE_DONE) return FailSqlite(to.handle(), result, "copy pages");
  errno = 0;
  result = sqlite3_backup_finish(backup.release());
  if (result != SQLITE_OK) return FailSqlite(to.handle(), result, "finish the copy");
  Statement stand_alone(to, "PRAGMA journal_mode = DELETE");
  return stand_alone.Run();
}

namespace {

// The WAL is cut back to this when it starts anew. Together with SQLite's checkpoint every 1000 pages it stays about as
// small, unless a reader holds on to an old state for long.
constexpr int64_t kWalLimitBytes = 4 << 20;

// SQLite would create the file with whatever rights the umask leaves; its WAL then inherits them.
// O_EXCL, because closing a second descriptor of an open database would drop the locks of the first.
Status CreateAbsent(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno == EEXIST ? OkStatus() : FailErrno(errno, "create " + path);
  if (::fchmod(fd.get(), 0600) != 0) return FailErrno(errno, "set the mode of " + path);
  return OkStatus();
}

Status EnterWal(Db& db) {
  Statement mode(db, "PRAGMA journal_mode = WAL");
  if (!mode.Next()) return mode.status();
  if (mode.Text(0) != "wal") {
    return Fail(ErrorCode::kStorageBroken, "switch to a write-ahead log",
                "SQLite stays in mode " + std::string(mode.Text(0)), "put the state folder on a local file system");
  }
  return OkStatus();
}

Status SetUp(Db& db, const Db::Options& options) {
  std::string pragmas = "PRAGMA mmap_size = 0; PRAGMA foreign_keys = ON; PRAGMA cache_size = -" +
                        std::to_string(options.cache_bytes / 1024) + ";";
  if (options.mode == Db::Mode::kReadOnly) return db.Execute((pragmas + "PRAGMA query_only = ON;").c_str());
  // temp_store: a savepoint's undo pages; a full /tmp shall not stop us.
  pragmas += "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = " +
             std::to_string(kWalLimitBytes) + ";";
  return db.Execute(pragmas.c_str());
}

// A path as SQLite's kind of URI.
std::string ImmutableUri(const std::string& path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '/' || c == '.' || c == '-' || c == '_') {
      uri += c;
    } else {
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return uri + "?immutable=1";
}

std::string RemedyOfDamage(sqlite3* db) {
  const char* path = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");
  const Layout layout{FolderOf(path == nullptr ? "" : path)};
  return path != nullptr && path == layout.CatalogPath() ? RestoreRemedy(layout.state_folder)
                                                         : "use another copy of it";
}

}  // namespace

Status FailSqlite(sqlite3* db, int result, std::string what) {
  // Not sqlite3_system_errno: it is not set by what fails inside a commit.
  const int error = errno;
  // The connection's message is about its latest call, which need not be the one that failed.
  bool is_latest = db != nullptr && (sqlite3_extended_errcode(db) & 0xff) == (result & 0xff);
  std::string why = is_latest ? sqlite3_errmsg(db) : sqlite3_errstr(result);
  const char* path = db == nullptr ? nullptr : sqlite3_db_filename(db, "main");  // none where opening it failed
  switch (result & 0xff) {
    case SQLITE_FULL:
      return Fail(ErrorCode::kStorageFull, std::move(what), std::move(why), RemedyOfFull(ENOSPC));
    case SQLITE_IOERR:
      if (result == SQLITE_IOERR_NOMEM) return Fail(ErrorCode::kInternal, std::move(what), "out of memory");
      if (error == ENOSPC || error == EDQUOT) {
        return Fail(ErrorCode::kStorageFull, std::move(what), std::move(why), RemedyOfFull(error));
      }
      return Fail(ErrorCode::kStorageBroken, std::move(what), why + " (" + sqlite3_errstr(result) + ")",
                  "check the disk");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Fail(ErrorCode::kStorageBroken, std::move(what), std::move(why), RemedyOfDamage(db));
    case SQLITE_CANTOPEN:
      // Where SQLite cannot create a file, it tries to open it, and says how that failed.
      if (error == ENOENT && path != nullptr && ::access(path, F_OK) == 0) {
        return Fail(ErrorCode::kStorageBroken, std::move(what), "a file beside it cannot be created",
                    "check the folder's free space and rights");
      }
      if (error != 0) return FailErrno(error, std::move(what));
      return Fail(ErrorCode::kInternal, std::move(what), std::move(why));
    case SQLITE_INTERRUPT:
      return Fail(ErrorCode::kCancelled, std::move(what), std::move(why));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Fail(ErrorCode::kQueueFull, std::move(what), std::move(why), "try again");
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return Fail(ErrorCode::kNotPermitted, std::move(what), std::move(why));
    case SQLITE_TOOBIG:
      return Fail(ErrorCode::kUsage, std::move(what), std::move(why));
    default:
      return Fail(ErrorCode::kInternal, std::move(what), std::move(why));
  }
}

Result<Db> Db::Open(const std::string& path, const Options& options) {
  const bool writes = options.mode == Mode::kReadWrite;
  if (writes) RETURN_IF_ERROR(CreateAbsent(path));
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
  if (options.immutable) flags |= SQLITE_OPEN_URI;
  const std::string name = options.immutable ? ImmutableUri(path) : path;
  sqlite3* handle = nullptr;
  errno = 0;
  int result = sqlite3_open_v2(name.c_str(), &handle, flags, options.vfs);
  Db db(handle);
  if (result != SQLITE_OK) return FailSqlite(handle, result, "open " + path);
  sqlite3_busy_timeout(handle, options.alone ? 0 : options.busy_timeout_ms);
  Status status = options.alone ? db.Execute("PRAGMA locking_mode = EXCLUSIVE") : OkStatus();
  if (status.ok()) status = SetUp(db, options);
  // The first thing that reads the file.
  if (status.ok()) status = db.QueryInteger("PRAGMA schema_version").status();
  if (!status.ok()) return Fail(status.code(), "open " + path, status.why(), status.remedy());  // by which SQL: ours
  if (writes && options.wal) status = EnterWal(db);
  if (writes && !options.wal) {
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  if (!status.ok()) return status.In("open " + path);
  if (options.kept_statements > 0) db.statements_ = std::make_unique<StatementCache>(options.kept_statements);
  return db;
}

Status Db::Execute(const char* sql) {
  errno = 0;  // see FailSqlite
  int result = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (result == SQLITE_OK) return OkStatus();
  return FailSqlite(handle_.get(), result, "run SQL \"" + std::string(sql).substr(0, 60) + "\"");
}

Result<int64_t> Db::QueryInteger(const char* sql) {
  Statement query(*this, sql);
  if (query.Next()) return query.Integer(0);
  if (!query.status().ok()) return query.status();
  return Fail(ErrorCode::kInternal, "run SQL \"" + std::string(sql).substr(0, 60) + "\"", "it gave no row");
}

}  // namespace kprof
