// What a query may take: time, rows, memory, temporary space.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/sandbox/user_query.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A query without end that holds no memory.
constexpr const char* kEndless =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

std::string Repeat(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST(UserQuery, EndsAtItsTimeLimit) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, kEndless, {.timeout_ms = 50});
  EXPECT_EQ(answer.status.code(), ErrorCode::kTimedOut) << answer.Text();
  EXPECT_THAT(answer.status.ToString(), HasSubstr("longer than its time limit of 50 ms"));
}

TEST(UserQuery, EndsAtItsTimeLimitWithinAJoin) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer =
      Ask(catalog.path(), kAlice,
          "SELECT count(*) FROM metric a, metric b, metric c, metric d, metric e, metric f, metric g, "
          "metric h, metric i, metric j, metric k, metric l, metric m",
          {.timeout_ms = 50});
  EXPECT_EQ(answer.status.code(), ErrorCode::kTimedOut) << answer.Text();
}

TEST(UserQuery, EndsAtItsTimeLimitWithinOneFunctionCall) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer =
      Ask(catalog.path(), kAlice,
          "SELECT hex(zeroblob(500000)) || 'b' LIKE '%' || substr(hex(zeroblob(4000)), 1, 5000) || 'c%'",
          {.timeout_ms = 20});
  EXPECT_EQ(answer.status.code(), ErrorCode::kTimedOut) << answer.Text();
}

TEST(UserQuery, HasNoTimeAtAllWithALimitOfZero) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_EQ(Ask(catalog.path(), kAlice, "SELECT 1", {.timeout_ms = 0}).status.code(), ErrorCode::kTimedOut);
}

TEST(UserQuery, CountsOnlyTheTimeItWorks) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run", {.timeout_ms = 10'000}, {});
  ASSERT_TRUE(query.ok());
  const double before = (*query)->elapsed_ms();
  EXPECT_GT(before, 0);
  EXPECT_EQ((*query)->elapsed_ms(), before);  // nobody works, so it stands still
  ASSERT_TRUE((*query)->NextBatch().ok());
  EXPECT_GT((*query)->elapsed_ms(), before);
}

TEST(UserQuery, EndsWhenItsStopTokenFires) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  std::stop_source stop;
  auto query = UserQuery::Open(catalog.path(), kAlice, kEndless, {}, stop.get_token());
  ASSERT_TRUE(query.ok());
  std::jthread other([&] { stop.request_stop(); });
  EXPECT_EQ((*query)->NextBatch().status().code(), ErrorCode::kCancelled);
  EXPECT_EQ((*query)->NextBatch().status().code(), ErrorCode::kCancelled);  // and stays so
}

TEST(UserQuery, DoesNotBeginOnceStopped) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(Ask(catalog.path(), kAlice, "SELECT 1", {}, stop.get_token()).status.code(), ErrorCode::kCancelled);
}

TEST(UserQuery, LetsGoOfTheCatalogWhenItIsReadTooSlowly) {
  SandboxCatalog catalog;
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run", {.batch_rows = 1, .hold_ms = 0}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch().ok());
  catalog.AddAtOnce(SomeRun("r8", kAlice.uid, false, "more"));
  ASSERT_EQ(*catalog.db().QueryInteger("PRAGMA busy_timeout = 0"), 0);
  EXPECT_EQ(*catalog.db().QueryInteger("PRAGMA wal_checkpoint(TRUNCATE)"), 1);
  const Status late = (*query)->NextBatch().status();
  EXPECT_EQ(late.code(), ErrorCode::kTimedOut);
  EXPECT_THAT(late.ToString(), HasSubstr("read faster"));
  EXPECT_EQ(*catalog.db().QueryInteger("PRAGMA wal_checkpoint(TRUNCATE)"), 0);
  EXPECT_EQ((*query)->NextBatch().status().code(), ErrorCode::kTimedOut);
}

TEST(UserQuery, ThatIsAtItsEndMayBeReadAsSlowlyAsOneLikes) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run", {.hold_ms = 0}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch()->has_value());
  EXPECT_FALSE((*query)->NextBatch()->has_value());
}

TEST(UserQuery, MayBeReadForAMinuteAndForTwiceItsTimeLimit) {
  EXPECT_EQ(QueryLimits{.timeout_ms = 1}.LongestHoldMs(), 60'000);
  EXPECT_EQ(QueryLimits{.timeout_ms = 45'000}.LongestHoldMs(), 90'000);
  EXPECT_GT(QueryLimits{.timeout_ms = INT64_MAX}.LongestHoldMs(), 60'000);
}

TEST(UserQuery, StopsAtTheRowLimitAndSaysSo) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, "SELECT id FROM run ORDER BY id", {.row_limit = 2});
  EXPECT_THAT(answer.rows, ElementsAre("r1", "r2"));
  EXPECT_TRUE(answer.truncated);
}

TEST(UserQuery, IsNotTruncatedByALimitItJustReaches) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, "SELECT id FROM run", {.row_limit = 3});
  EXPECT_EQ(answer.rows.size(), 3u);
  EXPECT_FALSE(answer.truncated);
}

TEST(UserQuery, CutsBatchesByRows) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query =
      UserQuery::Open(catalog.path(), kAlice, "SELECT value FROM json_each('[1,2,3,4,5]')", {.batch_rows = 2}, {});
  ASSERT_TRUE(query.ok());
  std::vector<int64_t> sizes;
  while (true) {
    auto batch = (*query)->NextBatch();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
    sizes.push_back((*batch)->rows);
    EXPECT_EQ((*batch)->columns[0].size(), static_cast<size_t>((*batch)->rows));
  }
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1));
  EXPECT_EQ((*query)->rows(), 5);
  EXPECT_FALSE((*query)->NextBatch()->has_value());  // the end stays the end
}

TEST(UserQuery, CutsBatchesByBytes) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT hex(zeroblob(500)) FROM json_each('[1,2,3,4,5]')",
                               {.batch_bytes = 2000}, {});
  ASSERT_TRUE(query.ok());
  auto batch = (*query)->NextBatch();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ((*batch)->rows, 2);
}

TEST(UserQuery, GivesAtLeastOneRowPerBatch) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, "SELECT id FROM run", {.batch_rows = 0, .batch_bytes = 0});
  EXPECT_EQ(answer.rows.size(), 3u);
}

class TooMuch : public ::testing::TestWithParam<std::pair<std::string, const char*>> {};

TEST_P(TooMuch, IsRefused) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, GetParam().first, {.timeout_ms = 20'000});
  EXPECT_EQ(ErrorName(answer.status.code()), "usage") << answer.Text().substr(0, 500);
  EXPECT_THAT(answer.status.ToString(), HasSubstr(GetParam().second));
}

// Each line joins the former with itself: without a bound on memory SQLite takes 2 GiB to prepare 20 of them.
std::string BillionLaughs(int lines) {
  std::string sql = "WITH c0 AS (SELECT 1 x)";
  for (int i = 1; i <= lines; ++i) {
    const std::string former = "c" + std::to_string(i - 1);
    sql += ", c" + std::to_string(i) + " AS (SELECT a.x FROM " + former + " a, " + former + " b)";
  }
  return sql + " SELECT count(*) FROM c" + std::to_string(lines);
}

INSTANTIATE_TEST_SUITE_P(
    Table, TooMuch,
    ::testing::Values(
        std::pair("SELECT '" + std::string(100'000, 'x') + "'", "over the limit of 100000"),
        std::pair("SELECT zeroblob(100000000)", "a value or a row has more than 1048576 bytes"),
        std::pair("SELECT hex(randomblob(1000000))", "a value or a row has more than"),
        std::pair("SELECT replace(hex(zeroblob(500000)), '0', 'xxxxxxxxxx')", "a value or a row has more than"),
        std::pair("SELECT group_concat(a.name, hex(zeroblob(50000))) FROM metric a, metric b", "a value or a row"),
        std::pair("SELECT zeroblob(600000), zeroblob(600000)", "a value or a row has more than"),
        std::pair("SELECT 1" + Repeat("+1", 500), "Expression tree is too large (maximum depth 200)"),
        std::pair("SELECT " + Repeat("(", 200) + "1" + Repeat(")", 200), "parser stack overflow"),
        std::pair("SELECT 1" + Repeat(" UNION SELECT 1", 60), "too many terms in compound SELECT"),
        std::pair("SELECT 1" + Repeat(",1", 600), "too many columns in result set"),
        std::pair("SELECT max(1" + Repeat(",1", 80) + ")", "too many arguments on function max"),
        std::pair("SELECT max(1" + Repeat(",1", 60) + ")" + Repeat(" UNION ALL SELECT abs(1),1", 2),
                  "do not have the same"),
        std::pair("SELECT max(" + Repeat("abs(1)+abs(1)+abs(1)+abs(1)+abs(1)+abs(1)+abs(1)+abs(1)+abs(1)+abs(1),", 30) +
                      "1) FROM run" + Repeat(" WHERE 1", 1) + " AND (" +
                      Repeat("abs(1) IN (abs(1),abs(1),abs(1),abs(1)) OR ", 180) + "1)",
                  "functions in more than 1000 places"),
        std::pair("SELECT 'a' LIKE '" + std::string(20'000, '%') + "'", "pattern too complex"),
        std::pair("SELECT 1 FROM run" + Repeat(", run", 70), "at most 64 tables in a join"),
        std::pair(BillionLaughs(30), "bytes of memory"),
        std::pair("SELECT 1" + Repeat(",randomblob(1000000)", 100), "bytes of memory")));

// SQLite's own way: printf() over the limit is NULL, not an error.
TEST(UserQuery, GivesNullForTextThatPrintfCannotHold) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_THAT(Ask(catalog.path(), kAlice, "SELECT printf('%2000000d', 1)").rows, ElementsAre("NULL"));
}

TEST(UserQuery, TakesTheMostThatItAllows) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_TRUE(Ask(catalog.path(), kAlice, "SELECT zeroblob(1048000)").status.ok());
  EXPECT_TRUE(Ask(catalog.path(), kAlice, "SELECT 1" + Repeat("+1", 190)).status.ok());
  EXPECT_TRUE(Ask(catalog.path(), kAlice, "SELECT 1" + Repeat(" UNION SELECT 1", 49)).status.ok());
  EXPECT_TRUE(Ask(catalog.path(), kAlice, "SELECT '" + std::string(99'991, 'x') + "'").status.ok());
}

constexpr const char* kBigSort =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 60000) "
    "SELECT max(x) FROM (SELECT x, hex(zeroblob(50)) || x AS k FROM c ORDER BY k LIMIT -1 OFFSET 10)";

TEST(UserQuery, SortsOnDiskWithinItsSpace) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, kBigSort);
  ASSERT_TRUE(answer.status.ok()) << answer.Text();
  EXPECT_THAT(answer.rows, ElementsAre("60000"));
}

TEST(UserQuery, FailsOverItsTemporarySpace) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  for (const char* sql :
       {kBigSort, "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c WHERE x < 400000) SELECT count(*) FROM c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 400000) "
        "SELECT count(*) FROM (SELECT DISTINCT x || 'abcdefghijklmnop' FROM c)",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 400000), "
        "m AS MATERIALIZED (SELECT x || 'abcdefghijklmnop' FROM c) SELECT count(*) FROM m"}) {
    const Answer answer = Ask(catalog.path(), kAlice, sql, {.temp_bytes = 1 << 20});
    EXPECT_EQ(ErrorName(answer.status.code()), "storage_full") << sql << "\n" << answer.Text();
    EXPECT_THAT(answer.status.ToString(), HasSubstr("more than 1048576 bytes of temporary space; sort or group fewer"));
  }
}

TEST(UserQuery, LeavesNoTemporaryFiles) {
  SandboxCatalog catalog;
  auto query = UserQuery::Open(catalog.path(), kAlice, std::string(kBigSort), {}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch().ok());
  for (const auto& entry : std::filesystem::directory_iterator(catalog.folder())) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::StartsWith("catalog.db"));
  }
}

}  // namespace
}  // namespace kprof
