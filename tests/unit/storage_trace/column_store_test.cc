#include "storage/trace/format/column_store.h"

#include <gtest/gtest.h>

#include "storage/trace/format/part_schema.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

using Values = std::vector<int64_t>;

class ColumnStoreTest : public testing::Test {
 protected:
  ColumnStoreTest() { EXPECT_TRUE(CreatePartTables(db_).ok()); }

  Status Write(const ColumnPlace& place, const Values& values) {
    return WriteColumn(db_, place, static_cast<uint32_t>(values.size()), EncodeColumn(values));
  }
  // Why what stands at kPlace is refused, once it was changed.
  std::string WhyRefused(const char* change) {
    EXPECT_TRUE(Write(kPlace, {1, 2, 3}).ok());
    EXPECT_TRUE(db_.Execute(change).ok()) << change;
    const Status status = ReadColumn(db_, kPlace).status();
    EXPECT_EQ(status.code(), ErrorCode::kStorageBroken) << change;
    return status.ToString();
  }

  static constexpr ColumnPlace kPlace{4, 3, 2};
  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "a.db", {.mode = Db::Mode::kReadWrite, .wal = false});
};

TEST_F(ColumnStoreTest, GivesBackWhatWasWritten) {
  const Values values = {5, kNoValue, -7};
  ASSERT_TRUE(Write(kPlace, values).ok());
  EXPECT_EQ(*ReadColumn(db_, kPlace), values);
}

// Around the size from which its pages are made at once, up to the largest.
TEST_F(ColumnStoreTest, GivesBackColumnsOfAnySize) {
  int64_t segment = 1;
  for (const size_t rows : {size_t{8191}, size_t{8192}, size_t{8193}, size_t{9000}, size_t{kMaxSegmentRows}}) {
    Values values(rows);
    for (size_t i = 0; i < rows; ++i) values[i] = static_cast<int64_t>(i * i * 0x9e3779b97f4a7c15u);
    const ColumnPlace place{segment++, 0, 1};
    ASSERT_TRUE(Write(place, values).ok());
    EXPECT_EQ(*ReadColumn(db_, place), values) << rows;
  }
}

TEST_F(ColumnStoreTest, KeepsColumnsOfSegmentsShapesAndEventsApart) {
  const ColumnPlace places[] = {{1, 0, 1},
                                {1, 0, 2},
                                {1, 1, 1},
                                {1, kMostShapes - 1, kMostShapeSlots - 1},
                                {2, 0, 0},
                                {2, 0, 1},
                                {kMostSegments - 1, 0, 1}};
  for (const ColumnPlace& place : places) ASSERT_TRUE(Write(place, {&place - places}).ok());
  for (const ColumnPlace& place : places) EXPECT_EQ(*ReadColumn(db_, place), Values{&place - places});
}

TEST_F(ColumnStoreTest, WhatIsNotThereHasNoValues) {
  EXPECT_EQ(*ReadColumn(db_, kPlace), Values{});
}

TEST_F(ColumnStoreTest, KeepsBetweenWhatTheValuesAre) {
  ASSERT_TRUE(Write(kPlace, {5, -3, 2}).ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT min FROM segment_column"), -3);
  EXPECT_EQ(*db_.QueryInteger("SELECT max FROM segment_column"), 5);
}

TEST_F(ColumnStoreTest, RefusesBytesThatAreOthersThanWereWrittenAndNamesThePlace) {
  const std::string why = WhyRefused("UPDATE segment_column SET data = data || x'00'");
  EXPECT_NE(why.find("column 2 of shape 3 of segment 4"), std::string::npos) << why;
  EXPECT_NE(why.find("checksum"), std::string::npos) << why;
}

TEST_F(ColumnStoreTest, RefusesAnythingElseOfARowThanWasWritten) {
  for (const char* change : {"codec = codec + 1", "rows = rows + 1", "min = min - 1", "max = max + 1"}) {
    ASSERT_TRUE(db_.Execute("DELETE FROM segment_column").ok());
    const std::string sql = std::string("UPDATE segment_column SET ") + change;
    EXPECT_NE(WhyRefused(sql.c_str()).find("checksum"), std::string::npos);
  }
}

TEST_F(ColumnStoreTest, RefusesCodecsAndRowsThatCannotBe) {
  for (const char* change : {"codec = 1000", "codec = -1", "rows = 0", "rows = -1", "rows = 65537", "rows = 1 << 40"}) {
    ASSERT_TRUE(db_.Execute("DELETE FROM segment_column").ok());
    const std::string sql = std::string("UPDATE segment_column SET ") + change;
    EXPECT_NE(WhyRefused(sql.c_str()).find("says that it has"), std::string::npos) << change;
  }
}

TEST_F(ColumnStoreTest, RefusesMoreRowsThanTheBytesAre) {
  EXPECT_NE(WhyRefused("UPDATE segment_column SET rows = 300").find("column 2 of shape 3"), std::string::npos);
}

TEST_F(ColumnStoreTest, WritesNoColumnTwice) {
  ASSERT_TRUE(Write(kPlace, {1}).ok());
  EXPECT_FALSE(Write(kPlace, {2}).ok());
}

}  // namespace
}  // namespace kprof
