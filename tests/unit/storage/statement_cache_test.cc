#include "storage/db/db.h"

#include <gtest/gtest.h>

#include "storage/db/statement.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class StatementCacheTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "a.db", {.mode = Db::Mode::kReadWrite, .kept_statements = 2});

  StatementCacheTest() {
    EXPECT_TRUE(db_.Execute("CREATE TABLE t (x INTEGER NOT NULL); INSERT INTO t VALUES (1), (2)").ok());
  }
};

TEST_F(StatementCacheTest, TheSameTextIsPreparedOnce) {
  sqlite3_stmt* first = nullptr;
  {
    Statement select(db_, "SELECT x FROM t ORDER BY x");
    first = select.handle();
    EXPECT_TRUE(select.Next());  // left in the middle
  }
  EXPECT_EQ(db_.statements()->size(), 1u);
  Statement again(db_, "SELECT x FROM t ORDER BY x");
  EXPECT_EQ(again.handle(), first);
  ASSERT_TRUE(again.Next());
  EXPECT_EQ(again.Integer(0), 1);  // from the beginning
}

TEST_F(StatementCacheTest, NothingStaysBound) {
  { Statement(db_, "SELECT count(*) FROM t WHERE x = ?1").Bind(1, int64_t{2}); }
  Statement unbound(db_, "SELECT count(*) FROM t WHERE x = ?1");
  ASSERT_TRUE(unbound.Next());
  EXPECT_EQ(unbound.Integer(0), 0);
}

TEST_F(StatementCacheTest, TwoOfOneTextAtATimeAreTwo) {
  Statement one(db_, "SELECT x FROM t");
  Statement two(db_, "SELECT x FROM t");
  EXPECT_NE(one.handle(), two.handle());
}

TEST_F(StatementCacheTest, KeepsNoMoreThanItMay) {
  for (const char* sql : {"SELECT 1", "SELECT 2", "SELECT 3"}) EXPECT_TRUE(Statement(db_, sql).Next());
  EXPECT_EQ(db_.statements()->size(), 2u);
}

TEST_F(StatementCacheTest, OneThatFailedIsNotKept) {
  EXPECT_FALSE(Statement(db_, "INSERT INTO t VALUES (NULL)").Run().ok());
  EXPECT_FALSE(Statement(db_, "no SQL").status().ok());
  EXPECT_EQ(db_.statements()->size(), 0u);
  EXPECT_FALSE(Statement(db_, "INSERT INTO t VALUES (NULL)").Run().ok());
}

TEST_F(StatementCacheTest, ANewSchemaIsSeen) {
  EXPECT_TRUE(Statement(db_, "SELECT * FROM t").Next());
  EXPECT_TRUE(db_.Execute("ALTER TABLE t ADD COLUMN y INTEGER DEFAULT 7").ok());
  Statement select(db_, "SELECT * FROM t");
  ASSERT_TRUE(select.Next());
  EXPECT_EQ(select.Integer(1), 7);
}

}  // namespace
}  // namespace kprof
