#include "storage/trace/format/part_schema.h"

#include <gtest/gtest.h>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class PartSchemaTest : public testing::Test {
 protected:
  PartSchemaTest() {
    EXPECT_TRUE(CreatePartTables(db_).ok());
    EXPECT_TRUE(db_.Execute("INSERT INTO fact VALUES ('complete', 1)").ok());
  }
  // Why it is no part any more.
  std::string WhyRefused(const char* change) {
    EXPECT_TRUE(db_.Execute(change).ok()) << change;
    const Status status = CheckPart(db_);
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << change;
    return status.ToString();
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "a.db", {.mode = Db::Mode::kReadWrite, .wal = false});
};

TEST_F(PartSchemaTest, TakesWhatItMade) {
  const Status status = CheckPart(db_);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_F(PartSchemaTest, RefusesAFileOfAnotherApplication) {
  EXPECT_NE(WhyRefused("PRAGMA application_id = 7").find("none of kprof's"), std::string::npos);
}

TEST_F(PartSchemaTest, RefusesANewerVersionAndSaysWhatHelps) {
  EXPECT_NE(WhyRefused("PRAGMA user_version = 3").find("upgrade kprofd"), std::string::npos);
}

TEST_F(PartSchemaTest, TakesSideTablesWithTheirVersionAlone) {
  EXPECT_FALSE(*HasSideTables(db_));
  EXPECT_NE(WhyRefused("PRAGMA user_version = 2").find("not all tables"), std::string::npos);
  ASSERT_TRUE(CreateSideTables(db_).ok());
  EXPECT_TRUE(CheckPart(db_).ok());
  EXPECT_TRUE(*HasSideTables(db_));
  EXPECT_NE(WhyRefused("PRAGMA user_version = 1").find("another table"), std::string::npos);
}

TEST_F(PartSchemaTest, RefusesAVersionThatNeverWas) {
  WhyRefused("PRAGMA user_version = 0");
  WhyRefused("PRAGMA user_version = -1");
}

TEST_F(PartSchemaTest, RefusesWhatWasNeverFinished) {
  EXPECT_NE(WhyRefused("DELETE FROM fact").find("never finished"), std::string::npos);
}

TEST_F(PartSchemaTest, RefusesViewsTriggersAndTablesThatAreNoneOfAPart) {
  for (const char* other : {"CREATE VIEW v AS SELECT 1", "CREATE TABLE more (x)", "CREATE INDEX i ON string (value)",
                            "CREATE TRIGGER t AFTER INSERT ON fact BEGIN SELECT 1; END"}) {
    ASSERT_TRUE(db_.Execute("BEGIN").ok());
    EXPECT_NE(WhyRefused(other).find("another table"), std::string::npos) << other;
    ASSERT_TRUE(db_.Execute("ROLLBACK").ok());
  }
}

TEST_F(PartSchemaTest, RefusesATableOfOtherColumns) {
  WhyRefused("DROP TABLE string; CREATE TABLE string (id INTEGER PRIMARY KEY, value AS (hex(zeroblob(1 << 30))))");
}

TEST_F(PartSchemaTest, RefusesAPartThatLacksATable) {
  EXPECT_NE(WhyRefused("DROP TABLE segment_column").find("not all tables"), std::string::npos);
}

TEST_F(PartSchemaTest, NamesKindsAndTypesAsTheFormatDoes) {
  EXPECT_EQ(EventKindName(EventKind::kSlice), "slice");
  EXPECT_EQ(EventKindName(EventKind::kSummary), "summary");
  EXPECT_EQ(EventKindName(EventKind::kTotal), "total");
  EXPECT_EQ(EventKindName(EventKind::kCounterSummary), "counter_summary");
  EXPECT_EQ(EventKindName(EventKind::kInstantSummary), "instant_summary");
  EXPECT_EQ(ArgTypeName(ArgType::kNull), "null");
  EXPECT_EQ(ArgTypeName(ArgType::kCorrelation), "correlation");
}

TEST_F(PartSchemaTest, FindsEachTypeByItsName) {
  for (size_t type = 1; type <= kArgTypes; ++type) {
    EXPECT_EQ(ArgTypeByName(ArgTypeName(static_cast<ArgType>(type))), static_cast<ArgType>(type));
  }
  EXPECT_EQ(ArgTypeByName("nonsense"), std::nullopt);
}

}  // namespace
}  // namespace kprof
