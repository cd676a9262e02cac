#include "storage/catalog/schema.h"

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
  ASSERT_TRUE(MigrateCatalog(db_).ok());
  EXPECT_EQ(*db_.QueryInteger("PRAGMA user_version"), CatalogVersion());
  EXPECT_TRUE(CheckCatalog(db_).ok());
}

TEST_F(SchemaTest, LeavesACurrentDatabaseAlone) {
  ASSERT_TRUE(MigrateCatalog(db_).ok());
  int64_t before = *db_.QueryInteger("PRAGMA data_version");
  int64_t changes = sqlite3_total_changes64(db_.handle());
  ASSERT_TRUE(MigrateCatalog(db_).ok());
  EXPECT_EQ(*db_.QueryInteger("PRAGMA data_version"), before);
  EXPECT_EQ(sqlite3_total_changes64(db_.handle()), changes);
}

TEST_F(SchemaTest, RefusesANewerVersion) {
  ASSERT_TRUE(MigrateCatalog(db_).ok());
  ASSERT_TRUE(db_.Execute("PRAGMA user_version = 1000").ok());
  Status status = MigrateCatalog(db_);
  EXPECT_EQ(status.code(), ErrorCode::kStorageBroken);
  EXPECT_EQ(status.why(), "it is version 1000, this kprofd knows up to " + std::to_string(CatalogVersion()));
}

TEST_F(SchemaTest, RefusesSomebodyElsesDatabase) {
  ASSERT_TRUE(db_.Execute("CREATE TABLE theirs (x)").ok());
  EXPECT_EQ(MigrateCatalog(db_).code(), ErrorCode::kStorageBroken);
}

}  // namespace
}  // namespace kprof
