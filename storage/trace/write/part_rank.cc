#include "storage/trace/write/part_rank.h"

#include <memory>
#include <utility>

#include "storage/db/db.h"
#include "storage/db/statement.h"
#include "storage/trace/format/part_checksums.h"

namespace kprof {
namespace {

// As when it was written: of a run that does not come to its end nothing is kept.
constexpr const char* kBeginRank =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "BEGIN";
constexpr const char* kSetRankFact = "INSERT OR REPLACE INTO fact (name, value) VALUES (?1, ?2)";
constexpr const char* kForgetRank = "DELETE FROM fact WHERE name = 'rank'";

Status SetFact(Db& db, const char* name, int64_t value) {
  Statement set(db, kSetRankFact);
  return set.BindText(1, name).Bind(2, value).Run();
}

Status Rewrite(const std::string& path, std::optional<int64_t> rank) {
  ASSIGN_OR_RETURN(Db db, Db::Open(path, {.mode = Db::Mode::kReadWrite, .wal = false}));
  RETURN_IF_ERROR(db.Execute(kBeginRank));
  RETURN_IF_ERROR(rank ? SetFact(db, "rank", *rank) : db.Execute(kForgetRank));
  ASSIGN_OR_RETURN(const int64_t checksum, ChecksumTables(db));
  RETURN_IF_ERROR(SetFact(db, kChecksumFact, checksum));
  return db.Execute("COMMIT");
}

}  // namespace

Result<int64_t> SetPartRank(Files& files, const std::string& path, std::optional<int64_t> rank) {
  const Status written = Rewrite(path, rank);
  if (!written.ok()) return written.In("write the rank of trace part " + path);
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, files.OpenForWrite(path));
  ASSIGN_OR_RETURN(const int64_t size, file->ReadSize());
  RETURN_IF_ERROR(file->Sync());
  return size;
}

}  // namespace kprof
