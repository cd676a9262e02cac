#include "storage/sandbox/authorizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <string>

namespace kprof {
namespace {

TEST(AllowedFunctions, TakeEitherCase) {
  EXPECT_TRUE(IsAllowedFunction("count"));
  EXPECT_TRUE(IsAllowedFunction("COUNT"));
  EXPECT_FALSE(IsAllowedFunction("Load_Extension"));
  EXPECT_FALSE(IsAllowedFunction(""));
}

// When this fails with a newer SQLite: look at what came, and either allow it or add it here.
TEST(AllowedFunctions, LeaveOutOnlyWhatWasLookedAt) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  std::set<std::string> left_out;
  sqlite3_exec(
      db, "SELECT DISTINCT name FROM pragma_function_list",
      [](void* names, int, char** row, char**) {
        if (!IsAllowedFunction(row[0])) static_cast<std::set<std::string>*>(names)->insert(row[0]);
        return 0;
      },
      &left_out, nullptr);
  sqlite3_close(db);
  EXPECT_THAT(left_out,
              ::testing::ElementsAre("bm25", "changes", "fts3_tokenizer", "fts5", "fts5_source_id", "highlight",
                                     "json_patch", "last_insert_rowid", "load_extension", "match", "matchinfo",
                                     "offsets", "optimize", "rtreecheck", "rtreedepth", "rtreenode", "snippet",
                                     "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_log",
                                     "sqlite_source_id", "sqlite_version", "subtype", "total_changes"));
}

}  // namespace
}  // namespace kprof
