#include "storage/sandbox/temp_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

struct CloseTemp {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using TempConnection = std::unique_ptr<sqlite3, CloseTemp>;

class TempSpaceTest : public ::testing::Test {
 protected:
  static TempConnection Open(const TempSpace& space) {
    sqlite3* db = nullptr;
    sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, space.vfs_name());
    sqlite3_exec(db, "PRAGMA temp_store = FILE; PRAGMA cache_size = 10", nullptr, nullptr, nullptr);
    return TempConnection(db);
  }
  static int Run(const TempConnection& db, const char* sql) {
    return sqlite3_exec(db.get(), sql, nullptr, nullptr, nullptr);
  }

  const TemporaryFolder folder_;
};

constexpr const char* kFill =
    "CREATE TEMP TABLE t AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) "
    "SELECT randomblob(100) FROM c";

TEST_F(TempSpaceTest, CountsWhatFilesTakeAndGiveBack) {
  TempSpace space(folder_.path(), 100 << 20);
  TempConnection db = Open(space);
  ASSERT_EQ(Run(db, kFill), SQLITE_OK) << sqlite3_errmsg(db.get());
  EXPECT_GT(space.peak_bytes(), 1 << 20);
  db.reset();
  EXPECT_EQ(space.used_bytes(), 0);
  EXPECT_FALSE(space.exceeded());
}

TEST_F(TempSpaceTest, RefusesMoreThanItsLimit) {
  TempSpace space(folder_.path(), 1 << 20);
  TempConnection db = Open(space);
  EXPECT_EQ(Run(db, kFill), SQLITE_FULL);
  EXPECT_TRUE(space.exceeded());
  EXPECT_LE(space.peak_bytes(), 1 << 20);
}

TEST_F(TempSpaceTest, RollsBackThroughItsFiles) {
  TempSpace space(folder_.path(), 100 << 20);
  TempConnection db = Open(space);
  ASSERT_EQ(Run(db, kFill), SQLITE_OK);
  ASSERT_EQ(Run(db, "BEGIN; DELETE FROM t WHERE rowid % 2; ROLLBACK"), SQLITE_OK) << sqlite3_errmsg(db.get());
  EXPECT_EQ(Run(db, "PRAGMA temp.integrity_check"), SQLITE_OK);
  EXPECT_EQ(Run(db, "SELECT abs(CASE count(*) WHEN 20000 THEN 0 ELSE -9223372036854775808 END) FROM t"), SQLITE_OK);
}

TEST_F(TempSpaceTest, GivesFilesNoName) {
  TempSpace space(folder_.path(), 100 << 20);
  TempConnection db = Open(space);
  ASSERT_EQ(Run(db, kFill), SQLITE_OK);
  EXPECT_GT(space.used_bytes(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TempSpaceTest, OpensNoFileThatHasAName) {
  TempSpace space(folder_.path(), 100 << 20);
  sqlite3* named = nullptr;
  EXPECT_EQ(
      sqlite3_open_v2((folder_ / "x.db").c_str(), &named, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, space.vfs_name()),
      SQLITE_CANTOPEN);
  sqlite3_close(named);
  TempConnection db = Open(space);
  EXPECT_EQ(Run(db, ("ATTACH '" + folder_ / "y.db' AS y").c_str()), SQLITE_CANTOPEN);
  EXPECT_EQ(Run(db, ("VACUUM INTO '" + folder_ / "z.db'").c_str()), SQLITE_CANTOPEN);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(TempSpaceTest, FailsWithoutItsFolder) {
  TempSpace space(folder_ / "gone", 100 << 20);
  TempConnection db = Open(space);
  EXPECT_EQ(Run(db, kFill), SQLITE_CANTOPEN);
}

TEST_F(TempSpaceTest, KeepsApartWhatLivesSideBySide) {
  TempSpace one(folder_.path(), 100 << 20);
  TempSpace two(folder_.path(), 100 << 20);
  EXPECT_STRNE(one.vfs_name(), two.vfs_name());
  TempConnection db = Open(one);
  ASSERT_EQ(Run(db, kFill), SQLITE_OK);
  EXPECT_GT(one.used_bytes(), 0);
  EXPECT_EQ(two.used_bytes(), 0);
}

}  // namespace
}  // namespace kprof
