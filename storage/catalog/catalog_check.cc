#include "storage/catalog/catalog_check.h"

#include "storage/statement.h"

namespace kprof {

Status CheckPages(Db& db, const std::string& remedy) {
  Statement check(db, "PRAGMA quick_check(1)");
  if (!check.Next()) return check.status();
  if (check.Text(0) == "ok") return OkStatus();
  return Fail(ErrorCode::kStorageBroken, "check the catalog's pages", std::string(check.Text(0)), remedy);
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
