#include "storage/catalog/catalog_check.h"

#include <sys/stat.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/db/statement.h"

namespace kprof {
namespace {

bool HasBytes(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

Status CheckPages(Db& db, const std::string& remedy) {
  Statement check(db, "PRAGMA quick_check(1)");
  if (!check.Next()) return check.status();
  if (check.Text(0) == "ok") return OkStatus();
  return Fail(ErrorCode::kStorageBroken, "check the catalog's pages", std::string(check.Text(0)), remedy);
}

Status LookAtCatalog(const std::string& path, const char* vfs) {
  if (!HasBytes(path)) return OkStatus();
  // What a killed daemon wrote last is in its WAL alone.
  const Db::Options options = HasBytes(path + "-wal")
                                  ? Db::Options{.mode = Db::Mode::kReadWrite, .wal = false, .alone = true, .vfs = vfs}
                                  : Db::Options{.immutable = true, .vfs = vfs};
  Result<Db> db = Db::Open(path, options);
  return db.ok() ? CheckCatalog(*db) : OkStatus();
}

Status MarkClean(Db& db) {
  return db.Execute("UPDATE facts SET value = 1 WHERE name = 'clean_stop'");
}

Status MarkBackup(Db& db) {
  RETURN_IF_ERROR(MarkClean(db));
  return db.Execute("INSERT OR REPLACE INTO facts (name, value) VALUES ('backup', 1)");
}

Result<bool> IsBackup(Db& db) {
  ASSIGN_OR_RETURN(int64_t marks, db.QueryInteger("SELECT count(*) FROM facts WHERE name = 'backup'"));
  return marks > 0;
}

Status UnmarkBackup(Db& db) {
  return db.Execute("DELETE FROM facts WHERE name = 'backup'");
}

}  // namespace kprof
