#include "storage/catalog/catalog_schema.h"

#include <gtest/gtest.h>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class SchemaTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(SchemaTest, BringsAnEmptyDatabaseToThisVersion) {
  ASSERT_TRUE(MakeCatalog(db_).ok());
  EXPECT_EQ(*db_.QueryInteger("PRAGMA user_version"), CatalogVersion());
  EXPECT_TRUE(CheckCatalog(db_).ok());
}

TEST_F(SchemaTest, LeavesACurrentDatabaseAlone) {
  ASSERT_TRUE(MakeCatalog(db_).ok());
  int64_t before = *db_.QueryInteger("PRAGMA data_version");
  int64_t changes = sqlite3_total_changes64(db_.handle());
  ASSERT_TRUE(MakeCatalog(db_).ok());
  EXPECT_EQ(*db_.QueryInteger("PRAGMA data_version"), before);
  EXPECT_EQ(sqlite3_total_changes64(db_.handle()), changes);
}

TEST_F(SchemaTest, RefusesANewerVersion) {
  ASSERT_TRUE(MakeCatalog(db_).ok());
  ASSERT_TRUE(db_.Execute("PRAGMA user_version = 1000").ok());
  Status status = MakeCatalog(db_);
  EXPECT_EQ(status.code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(status.why(), "it is version 1000, this kprofd knows up to " + std::to_string(CatalogVersion()));
}

TEST_F(SchemaTest, TheAuditOnlyGrows) {
  ASSERT_TRUE(MakeCatalog(db_).ok());
  const char* const insert =
      "INSERT INTO audit (time_ns, uid, caller, action, outcome) VALUES (100, 1000, 'local', 'cancel', 'ok')";
  ASSERT_TRUE(db_.Execute(insert).ok());
  ASSERT_TRUE(db_.Execute(insert).ok());
  for (const char* forbidden : {
           "UPDATE audit SET uid = 0",
           "DELETE FROM audit",
           "INSERT OR REPLACE INTO audit (id, time_ns, uid, caller, action, outcome) VALUES (1, 5, 0, '', '', '')",
           "REPLACE INTO audit (id, time_ns, uid, caller, action, outcome) VALUES (2, 5, 0, '', '', '')",
       }) {
    EXPECT_FALSE(db_.Execute(forbidden).ok()) << forbidden;
  }
  EXPECT_EQ(*db_.QueryInteger("SELECT sum(uid) FROM audit WHERE time_ns = 100"), 2000);
}

TEST_F(SchemaTest, TheAuditGoesOnceItIsOlderThanItIsKept) {
  ASSERT_TRUE(MakeCatalog(db_).ok());
  for (const char* statement : {
           "INSERT INTO audit (time_ns, uid, caller, action, outcome) VALUES (100, 1, 'local', 'cancel', 'ok')",
           "INSERT INTO audit (time_ns, uid, caller, action, outcome) VALUES (200, 2, 'local', 'cancel', 'ok')",
           "UPDATE facts SET value = 200 WHERE name = 'audit_kept_since_ns'",
           "DELETE FROM audit WHERE time_ns < 200",
       }) {
    Status status = db_.Execute(statement);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  EXPECT_EQ(*db_.QueryInteger("SELECT min(uid) FROM audit"), 2);
  EXPECT_FALSE(db_.Execute("DELETE FROM audit").ok());
  ASSERT_TRUE(db_.Execute("DELETE FROM facts WHERE name = 'audit_kept_since_ns'").ok());
  EXPECT_FALSE(db_.Execute("DELETE FROM audit").ok()) << "without the fact all of it is kept";
}

TEST_F(SchemaTest, RefusesSomebodyElsesDatabase) {
  ASSERT_TRUE(db_.Execute("CREATE TABLE theirs (x)").ok());
  EXPECT_EQ(MakeCatalog(db_).code(), ErrorCode::kStorageBroken);
}

}  // namespace
}  // namespace kprof
