#include "storage/db/db_copy.h"

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "storage/db/statement.h"

namespace kprof {
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

}  // namespace kprof
