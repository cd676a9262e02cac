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

}  // namespace kprof
