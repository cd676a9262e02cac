#include "storage/db/statement.h"

#include <gtest/gtest.h>

#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class StatementTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "a.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(StatementTest, ReadsBackWhatWasBound) {
  Statement select(db_, "SELECT ?1, ?2, ?3, ?4, ?5, ?6");
  std::string_view odd("a\0\xff", 3);
  select.Bind(1, int64_t{-7}).Bind(2, 0.5).BindText(3, odd).BindBytes(4, odd).BindNull(5);
  select.BindMaybe(6, std::nullopt);
  ASSERT_TRUE(select.Next()) << select.status().ToString();
  EXPECT_EQ(select.Integer(0), -7);
  EXPECT_EQ(select.Real(1), 0.5);
  EXPECT_EQ(select.Text(2), odd);
  EXPECT_EQ(select.Bytes(3), odd);
  EXPECT_TRUE(select.IsNull(4));
  EXPECT_EQ(select.MaybeInteger(5), std::nullopt);
}

TEST_F(StatementTest, TellsEmptyFromNull) {
  Statement select(db_, "SELECT ?1, ?2");
  select.BindText(1, std::string_view()).BindBytes(2, std::string_view());
  ASSERT_TRUE(select.Next());
  EXPECT_FALSE(select.IsNull(0));
  EXPECT_FALSE(select.IsNull(1));
}

TEST_F(StatementTest, MayBeBoundAgainAfterItEnded) {
  ASSERT_TRUE(db_.Execute("CREATE TABLE t (x)").ok());
  Statement insert(db_, "INSERT INTO t VALUES (?1)");
  for (int64_t i = 1; i <= 3; ++i) ASSERT_TRUE(insert.Bind(1, i).Run().ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT sum(x) FROM t"), 6);
}

TEST_F(StatementTest, KeepsTheFailureOfPrepareThroughAChain) {
  Statement select(db_, "SELECT nonsense FROM nowhere");
  EXPECT_FALSE(select.Bind(1, int64_t{1}).BindText(2, "x").Next());
  EXPECT_EQ(select.status().why(), "no such table: nowhere");
}

TEST_F(StatementTest, KeepsTheFailureOfABind) {
  Statement select(db_, "SELECT ?1");
  EXPECT_FALSE(select.Bind(5, int64_t{1}).Next());
  EXPECT_FALSE(select.status().ok());
}

TEST_F(StatementTest, KeepsTheFailureOfAStep) {
  ASSERT_TRUE(db_.Execute("CREATE TABLE t (x NOT NULL)").ok());
  Statement insert(db_, "INSERT INTO t VALUES (?1)");
  EXPECT_EQ(insert.BindNull(1).Run().code(), ErrorCode::kInternal);
  EXPECT_EQ(insert.status().why(), "NOT NULL constraint failed: t.x");
}

}  // namespace
}  // namespace kprof
