#include "storage/db/db.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "storage/db/statement.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/fault_plan.h"
#include "tests/fakes/storage/fault_vfs.h"

namespace kprof {
namespace {

constexpr Db::Options kReadWrite{.mode = Db::Mode::kReadWrite};

class DbTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.db";
};

TEST_F(DbTest, CreatesTheFileForTheOwnerAloneWhateverTheUmask) {
  mode_t old = ::umask(0277);
  Result<Db> db = Db::Open(path_, kReadWrite);
  ::umask(old);
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  ASSERT_TRUE(db->Execute("CREATE TABLE t (x)").ok());
  for (const char* suffix : {"", "-wal", "-shm"}) {
    struct stat info {};
    ASSERT_EQ(::stat((path_ + suffix).c_str(), &info), 0) << suffix;
    EXPECT_EQ(info.st_mode & 07777, 0600u) << suffix;
  }
}

TEST_F(DbTest, WritesSafelyByDefault) {
  Db db = *Db::Open(path_, kReadWrite);
  EXPECT_EQ(*db.QueryInteger("PRAGMA synchronous"), 2);
  EXPECT_EQ(*db.QueryInteger("PRAGMA foreign_keys"), 1);
  EXPECT_EQ(*db.QueryInteger("PRAGMA journal_size_limit"), 4 << 20);
  EXPECT_EQ(*db.QueryInteger("PRAGMA busy_timeout"), 5000);
  Statement mode(db, "PRAGMA journal_mode");
  ASSERT_TRUE(mode.Next());
  EXPECT_EQ(mode.Text(0), "wal");
}

TEST_F(DbTest, ReaderCannotWrite) {
  { ASSERT_TRUE(Db::Open(path_, kReadWrite)->Execute("CREATE TABLE t (x)").ok()); }
  Db reader = *Db::Open(path_, {});
  EXPECT_EQ(reader.Execute("INSERT INTO t VALUES (1)").code(), ErrorCode::kNotPermitted);
}

// A WAL beside it would count for any other reader.
TEST_F(DbTest, AFileThatNobodyChangesIsReadWithoutLookingBesideIt) {
  const std::string odd = folder_ / "50% of a? #1 b.db";
  {
    Db db = *Db::Open(odd, {.mode = Db::Mode::kReadWrite, .wal = false});
    ASSERT_TRUE(db.Execute("CREATE TABLE t (x); PRAGMA user_version = 7").ok());
  }
  Db writer = *Db::Open(odd, kReadWrite);
  ASSERT_TRUE(writer.Execute("PRAGMA user_version = 8").ok());
  Db reader = *Db::Open(odd, {.immutable = true});
  EXPECT_EQ(*reader.QueryInteger("PRAGMA user_version"), 7);
}

TEST_F(DbTest, AFileThatNobodyChangesIsReadWhileItIsLocked) {
  Db writer = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .wal = false});
  ASSERT_TRUE(writer.Execute("PRAGMA user_version = 7; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").ok());
  Db reader = *Db::Open(path_, {.immutable = true, .busy_timeout_ms = 0});
  EXPECT_EQ(*reader.QueryInteger("PRAGMA user_version"), 7);
  EXPECT_EQ(reader.Execute("PRAGMA user_version = 8").code(), ErrorCode::kNotPermitted);
}

TEST_F(DbTest, AFileThatNobodyChangesIsNotCreated) {
  EXPECT_EQ(Db::Open(path_, {.immutable = true}).status().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DbTest, ReaderCreatesNothing) {
  EXPECT_EQ(Db::Open(path_, {}).status().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DbTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(path_) << std::string(5000, 'x');
  EXPECT_EQ(Db::Open(path_, kReadWrite).status().code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(Db::Open(path_, {}).status().code(), ErrorCode::kStorageBroken);
}

TEST_F(DbTest, LookingChangesNothing) {
  {
    Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .wal = false});
    ASSERT_TRUE(db.Execute("CREATE TABLE t (x)").ok());
  }
  std::string before = ReadFile(path_);
  { ASSERT_TRUE(Db::Open(path_, {.mode = Db::Mode::kReadWrite, .wal = false}).ok()); }
  EXPECT_EQ(ReadFile(path_), before);
}

TEST_F(DbTest, FullDiskIsStorageFull) {
  FaultPlan plan;
  FaultVfs vfs(plan);
  Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .vfs = vfs.name()});
  plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  EXPECT_EQ(db.Execute("CREATE TABLE t (x)").code(), ErrorCode::kStorageFull);
  plan.Heal();
}

TEST_F(DbTest, FullDiskFoundAtSyncIsStorageFull) {
  FaultPlan plan;
  FaultVfs vfs(plan);
  Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .vfs = vfs.name()});
  ASSERT_TRUE(db.Execute("CREATE TABLE t (x)").ok());
  for (int64_t at = 1; !plan.has_failed() || plan.failed_op() != FaultPlan::Op::kSync; ++at) {
    ASSERT_LT(at, 20);
    plan.FailAt(at, Fault::kNoSpace);
    Status status = db.Execute("INSERT INTO t VALUES (1)");
    EXPECT_EQ(status.code(), plan.has_failed() ? ErrorCode::kStorageFull : ErrorCode::kOk) << status.ToString();
  }
  plan.Heal();
}

TEST_F(DbTest, BrokenDiskIsStorageBroken) {
  FaultPlan plan;
  FaultVfs vfs(plan);
  Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .vfs = vfs.name()});
  plan.FailAt(1, Fault::kInputOutput, /*lasting=*/true);
  EXPECT_EQ(db.Execute("CREATE TABLE t (x)").code(), ErrorCode::kStorageBroken);
  plan.Heal();
}

TEST_F(DbTest, DamageIsStorageBroken) {
  {
    Db db = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .wal = false});
    ASSERT_TRUE(db.Execute("CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))").ok());
  }
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(4096, 'x');
  }
  Db db = *Db::Open(path_, {});
  EXPECT_EQ(db.QueryInteger("SELECT max(length(x)) FROM t").status().code(), ErrorCode::kStorageBroken);
}

TEST_F(DbTest, LockedDatabaseIsQueueFull) {
  Db one = *Db::Open(path_, kReadWrite);
  Db two = *Db::Open(path_, {.mode = Db::Mode::kReadWrite, .busy_timeout_ms = 0});
  ASSERT_TRUE(one.Execute("BEGIN IMMEDIATE").ok());
  EXPECT_EQ(two.Execute("BEGIN IMMEDIATE").code(), ErrorCode::kQueueFull);
}

TEST_F(DbTest, InterruptIsCancelledAndTooBigIsUsage) {
  Db db = *Db::Open(path_, kReadWrite);
  sqlite3_progress_handler(
      db.handle(), 100, [](void*) { return 1; }, nullptr);
  EXPECT_EQ(db.QueryInteger("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")
                .status()
                .code(),
            ErrorCode::kCancelled);
  sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 1000);
  EXPECT_EQ(db.QueryInteger("SELECT length(hex(zeroblob(1000)))").status().code(), ErrorCode::kUsage);
}

TEST_F(DbTest, WordsOfAnOlderFailureAreNotTakenForTheLatest) {
  Db db = *Db::Open(path_, kReadWrite);
  ASSERT_FALSE(db.Execute("nonsense").ok());
  EXPECT_EQ(FailSqlite(db.handle(), SQLITE_FULL, "write").why(), "database or disk is full");
  EXPECT_EQ(FailSqlite(db.handle(), SQLITE_FULL, "write").remedy(), "free space on that file system");
  EXPECT_EQ(FailSqlite(nullptr, SQLITE_NOMEM, "open").why(), "out of memory");
}

}  // namespace
}  // namespace kprof
