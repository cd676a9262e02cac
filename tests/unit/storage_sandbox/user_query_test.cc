#include "storage/sandbox/user_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A query without end that holds no memory.
constexpr const char* kEndless =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

std::string Repeat(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

struct Allowed {
  const char* sql;
  const char* first_row;
};

class AllowedStatements : public ::testing::TestWithParam<Allowed> {};

TEST_P(AllowedStatements, GiveTheirRows) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, GetParam().sql);
  ASSERT_TRUE(answer.status.ok()) << answer.status.ToString();
  ASSERT_FALSE(answer.rows.empty());
  EXPECT_EQ(answer.rows[0], GetParam().first_row);
}

INSTANTIATE_TEST_SUITE_P(
    Table, AllowedStatements,
    ::testing::Values(
        Allowed{"SELECT 1", "1"},                                                                                    //
        Allowed{"select 1;", "1"},                                                                                   //
        Allowed{" ; SELECT 1", "1"},                                                                                 //
        Allowed{"SELECT 1 ;; -- done\n /* really */ ;", "1"},                                                        //
        Allowed{"VALUES (1, 2), (3, 4)", "1|2"},                                                                     //
        Allowed{"SELECT id FROM run ORDER BY id", "r1"},                                                             //
        Allowed{"SELECT id FROM \"run\" ORDER BY id", "r1"},                                                         //
        Allowed{"SELECT id FROM main.run ORDER BY id", "r1"}, Allowed{"SELECT id FROM temp.run ORDER BY id", "r1"},  //
        Allowed{"SELECT ID FROM RUN ORDER BY ID DESC", "r4"},                                                        //
        Allowed{"SELECT count(*) FROM run", "3"},                                                                    //
        Allowed{"SELECT COUNT(*), Max(ID) FROM run", "3|r4"},                                                        //
        Allowed{"SELECT command, cwd FROM run", "python3 one.py 'a b'|/home/one"},                                   //
        Allowed{"SELECT labels, devices FROM run", R"({"branch":"one","path":"$.one"}|["0","one"])"},                //
        Allowed{"SELECT labels ->> 'branch' FROM run WHERE id = 'r2'", "two"},                                       //
        Allowed{"SELECT state, error_code, exit_code FROM run WHERE id = 'r2'", "failed|command_failed|3"},          //
        Allowed{"SELECT duration_ns FROM run WHERE id = 'r1'", "4000"},                                              //
        Allowed{"SELECT kernel, launch, name, value, unit FROM metric", "NULL|NULL|gpu_ms|2.5|ms"},                  //
        Allowed{"SELECT r.id, m.value FROM run r JOIN metric m ON m.run = r.id WHERE m.name = 'dram'", "r1|40"},     //
        Allowed{"SELECT r.id FROM run r LEFT JOIN metric m ON m.run = r.id AND m.name = 'x' WHERE m.run IS NULL", "r1"},
        Allowed{"SELECT key, value FROM label WHERE run = 'r4'", "branch|shared"},                 //
        Allowed{"SELECT code, message FROM trust", "clocks_not_locked|one"},                       //
        Allowed{"SELECT name, size_bytes, sha256 FROM artifact", "one.ncu-rep|4096|abone"},        //
        Allowed{"SELECT group_concat(device) FROM device WHERE run = 'r1'", "0,one"},              //
        Allowed{"SELECT value FROM json_each('[7]')", "7"},                                        //
        Allowed{"SELECT d.value FROM run, json_each(run.devices) d WHERE d.value <> '0'", "one"},  //
        Allowed{"SELECT fullkey FROM json_tree('{\"a\":[1]}') WHERE atom = 1", "$.a[0]"},          //
        Allowed{"WITH runs AS (SELECT 1 x) SELECT count(*) FROM runs", "1"},                       //
        Allowed{"WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 9) SELECT sum(x) FROM c",
                "45"},
        Allowed{"SELECT id, row_number() OVER (ORDER BY id DESC) FROM run ORDER BY id", "r1|3"},     //
        Allowed{"SELECT id FROM run EXCEPT SELECT 'r1' ORDER BY 1", "r2"},                           //
        Allowed{"SELECT EXISTS (SELECT 1 FROM run WHERE uid = 1000)", "1"},                          //
        Allowed{"SELECT (SELECT max(value) FROM metric WHERE run = run.id) FROM run", "40"},         //
        Allowed{"SELECT 1 AS a, 2 AS a", "1|2"},                                                     //
        Allowed{"SELECT upper('a'), UPPER('b'), \"upper\"('c')", "A|B|C"},                           //
        Allowed{"SELECT sqrt(16.0), pi() > 3, mod(7, 4)", "4|1|3"},                                  //
        Allowed{"SELECT date(0, 'unixepoch'), strftime('%Y', 0, 'unixepoch')", "1970-01-01|1970"},   //
        Allowed{"SELECT current_timestamp > '2020' AND datetime('now') > '2020'", "1"},              //
        Allowed{"SELECT length(randomblob(10)), typeof(random())", "10|integer"},                    //
        Allowed{"SELECT printf('%05d', 42), format('%s', 'x')", "00042|x"},                          //
        Allowed{"SELECT 'abc' LIKE 'A%', 'abc' GLOB 'a*', 'a' LIKE 'b'", "1|1|0"},                   //
        Allowed{"SELECT id FROM run WHERE id LIKE 'r%' AND id GLOB 'r[2]'", "r2"},                   //
        Allowed{"SELECT id FROM run WHERE id = 'r2' OR id = 'r1' OR uid = 1001 ORDER BY id", "r1"},  //
        Allowed{"SELECT id FROM run WHERE id IN ('r4', 'r2') ORDER BY id DESC", "r4"},               //
        Allowed{"SELECT id FROM run WHERE id BETWEEN 'r2' AND 'r3'", "r2"},                          //
        Allowed{"SELECT cast(x'61ff' AS TEXT)", "a\\xff"}));

TEST(UserQuery, GivesBlobsWithAllTheirBytes) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT x'00ff', x''", {}, {});
  ASSERT_TRUE(query.ok()) << query.status().ToString();
  auto batch = (*query)->NextBatch();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  EXPECT_EQ(std::get<SqlBytes>((*batch)->columns[0][0]).bytes, std::string("\0\xff", 2));
  EXPECT_EQ(std::get<SqlBytes>((*batch)->columns[1][0]).bytes, "");
}

struct Denied {
  const char* sql;
  ErrorCode code;
  const char* says;
};

class DeniedStatements : public ::testing::TestWithParam<Denied> {};

TEST_P(DeniedStatements, SayWhy) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, GetParam().sql);
  EXPECT_EQ(ErrorName(answer.status.code()), ErrorName(GetParam().code)) << answer.Text();
  EXPECT_THAT(answer.status.ToString(), AllOf(HasSubstr("query: "), HasSubstr(GetParam().says)));
  EXPECT_THAT(answer.rows, IsEmpty());
}

constexpr ErrorCode kNo = ErrorCode::kNotPermitted;
constexpr ErrorCode kBad = ErrorCode::kUsage;

INSTANTIATE_TEST_SUITE_P(
    Reading, DeniedStatements,
    ::testing::Values(
        Denied{"SELECT sql FROM sqlite_master", kNo,
               "reading sqlite_master is not allowed; a query is one SELECT over"},
        Denied{"SELECT sql FROM sqlite_schema", kNo, "reading sqlite_master"},
        Denied{"SELECT * FROM main.sqlite_schema", kNo, "reading sqlite_master"},
        Denied{"SELECT * FROM sqlite_temp_master", kNo, "reading sqlite_temp_master"},
        Denied{"SELECT * FROM sqlite_temp_schema", kNo, "reading sqlite_temp_master"},
        Denied{"SELECT * FROM temp.sqlite_schema", kNo, "reading sqlite_temp_master"},
        Denied{"SELECT count(*) FROM sqlite_schema", kNo, "reading sqlite_"},
        Denied{"SELECT 1 FROM \"SQLITE_MASTER\"", kNo, "reading sqlite_master"},
        Denied{"SELECT rowid FROM sqlite_master", kNo, "reading sqlite_master"},
        Denied{"WITH run AS (SELECT * FROM sqlite_master) SELECT * FROM run", kNo, "reading sqlite_master"},
        Denied{"SELECT * FROM sqlite_sequence", kBad, "no such table: sqlite_sequence"},
        Denied{"SELECT * FROM sqlite_stat1", kBad, "no such table: sqlite_stat1"},
        Denied{"SELECT * FROM dbstat", kBad, "no such table: dbstat"},
        Denied{"SELECT * FROM sqlite_stmt", kBad, "no such table: sqlite_stmt"},
        Denied{"SELECT * FROM fts3tokenize", kBad, "no such table"},
        Denied{"SELECT * FROM pragma_table_info('run')", kNo,
               "anything but reading the tables on offer is not allowed"},
        Denied{"SELECT name FROM pragma_database_list", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"SELECT count(*) FROM pragma_function_list", kNo,
               "anything but reading the tables on offer is not allowed"},
        Denied{"SELECT * FROM runs", kBad,
               "no such table: runs; the tables are run, artifact, metric, label, device, trust"},
        Denied{"SELECT * FROM main.runs", kBad, "no such table: main.runs"},
        Denied{"SELECT count(*) FROM metrics", kBad, "no such table: metrics"},
        Denied{"SELECT environment FROM run", kBad, "no such column: environment"},
        Denied{"SELECT nmae FROM metric", kBad, "metric has run, kernel, launch, name, value, unit"},
        Denied{"SELECT r.nmae FROM run AS r", kBad, "run has id, uid, tool, state, command"},
        Denied{"SELECT id FROM run WHERE tool = \"ncu\"", kBad, "text goes in single quotes"},
        Denied{"SELECT rowid FROM run", kBad, "no such column: rowid"},
        Denied{"SELECT id FROM run, label, run", kBad, "ambiguous column name: id"},
        Denied{"EXPLAIN SELECT 1", kNo, "EXPLAIN (but EXPLAIN QUERY PLAN) is not allowed"},
        Denied{"EXPLAIN VACUUM INTO '/tmp/kprof-sandbox-copy'", kNo, "is not allowed"}));

INSTANTIATE_TEST_SUITE_P(
    Writing, DeniedStatements,
    ::testing::Values(
        Denied{"INSERT INTO run (id) VALUES ('x')", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"UPDATE run SET uid = 1000", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"DELETE FROM run", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"DELETE FROM run RETURNING id", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"REPLACE INTO run (id) VALUES ('x')", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"INSERT INTO sqlite_master (name) VALUES ('x')", kNo,
               "anything but reading the tables on offer is not allowed"},
        Denied{"DELETE FROM sqlite_schema RETURNING *", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"WITH x AS (SELECT 1) DELETE FROM run", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE TABLE t (a)", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE TEMP TABLE t (a)", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE TABLE t AS SELECT 1", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE VIEW v AS SELECT 1", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE TEMP VIEW v AS SELECT 1", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE INDEX i ON run (id)", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE TEMP TRIGGER t AFTER INSERT ON run BEGIN SELECT 1; END", kNo,
               "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE VIRTUAL TABLE t USING fts5(a)", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"CREATE VIRTUAL TABLE t USING run", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"DROP TABLE run", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"ALTER TABLE run RENAME TO x", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"ATTACH '/tmp/kprof-sandbox-x.db' AS x", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"ATTACH ':memory:' AS x", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"DETACH main", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"VACUUM", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"VACUUM INTO '/tmp/kprof-sandbox-copy'", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"PRAGMA user_version", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"PRAGMA writable_schema = 1", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"PRAGMA main.table_info(run)", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"PRAGMA temp_store_directory = '/tmp'", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"BEGIN", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"COMMIT", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"SAVEPOINT s", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"ANALYZE", kNo, "anything but reading the tables on offer is not allowed"},
        Denied{"REINDEX", kNo, "anything but reading the tables on offer is not allowed"}));

INSTANTIATE_TEST_SUITE_P(
    Functions, DeniedStatements,
    ::testing::Values(Denied{"SELECT load_extension('x')", kNo, "the function load_extension is not allowed"},
                      Denied{"SELECT LOAD_EXTENSION('x', 'y')", kNo, "the function load_extension is not allowed"},
                      Denied{"SELECT fts3_tokenizer('simple')", kNo, "the function fts3_tokenizer is not allowed"},
                      Denied{"SELECT sqlite_compileoption_get(0)", kNo, "is not allowed"},
                      Denied{"SELECT sqlite_compileoption_used('X')", kNo, "is not allowed"},
                      Denied{"SELECT sqlite_log(1, 'x')", kNo, "is not allowed"},
                      Denied{"SELECT sqlite_source_id()", kNo, "is not allowed"},
                      Denied{"SELECT last_insert_rowid(), changes(), total_changes()", kNo, "is not allowed"},
                      Denied{"SELECT json_patch('{}', '{}')", kNo, "the function json_patch is not allowed"},
                      Denied{"SELECT rtreecheck('main')", kNo, "is not allowed"},
                      Denied{"SELECT fts5(1)", kNo, "is not allowed"},
                      Denied{"SELECT id FROM run WHERE id MATCH 'x'", kNo, "the function match is not allowed"},
                      Denied{"SELECT readfile('/etc/passwd')", kBad, "no such function: readfile"},
                      Denied{"SELECT writefile('/tmp/x', 'y')", kBad, "no such function: writefile"},
                      Denied{"SELECT edit('x')", kBad, "no such function: edit"},
                      Denied{"SELECT command_text(x'00')", kBad, "no such function: command_text"},
                      Denied{"SELECT readable_text(x'00')", kBad, "no such function: readable_text"},
                      Denied{"SELECT 'x' REGEXP 'y'", kBad, "no such function: REGEXP"},
                      Denied{"SELECT sqlite_rename_table(1,2,3,4,5,6,7)", kNo, "is not allowed"}));

INSTANTIATE_TEST_SUITE_P(
    Text, DeniedStatements,
    ::testing::Values(Denied{"", kBad, "there is no statement in it; write one SELECT"},
                      Denied{"  \n\t", kBad, "no statement"}, Denied{";", kBad, "no statement"},
                      Denied{"-- only a comment", kBad, "no statement"},
                      Denied{"/* the same */;;", kBad, "no statement"}, Denied{"/* not closed", kBad, "no statement"},
                      Denied{"SELECT 1; SELECT 2", kBad, "more than one statement"},
                      Denied{"SELECT 1; DROP TABLE run", kBad, "more than one statement"},
                      Denied{"SELECT 1; garbage", kBad, "more than one statement"},
                      Denied{"SELECT 1;;SELECT 2;", kBad, "more than one statement"},
                      Denied{"SELECT FROM run", kBad, "near \"FROM\": syntax error (line 1, column 8)"},
                      Denied{"SELECT id,\n  FROM run", kBad, "near \"FROM\": syntax error (line 2, column 3)"},
                      Denied{"SELECT 'open", kBad, "unrecognized token"},
                      Denied{"SELECT ?1", kBad, "it has parameters"}, Denied{"SELECT :name", kBad, "it has parameters"},
                      Denied{"SELECT '\xff'", kBad, "it is not UTF-8"},
                      Denied{"SELECT abs(-9223372036854775808)", kBad, "integer overflow"},
                      Denied{"SELECT json('{')", kBad, "malformed JSON"},
                      Denied{"SELECT value FROM json_each('{')", kBad, "malformed JSON"},
                      Denied{"SELECT 'a' LIKE 'b' ESCAPE 'cd'", kBad, "ESCAPE expression must be a single character"}));

TEST(UserQuery, RefusesAZeroByte) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, std::string("SELECT 1\0; DROP TABLE run", 25));
  EXPECT_EQ(answer.status.code(), ErrorCode::kUsage);
  EXPECT_THAT(answer.status.why(), HasSubstr("zero byte"));
}

TEST(UserQuery, WritesNothingWhateverItIsAsked) {
  SandboxCatalog catalog;
  (void)Ask(catalog.path(), kAlice, "VACUUM INTO '" + catalog.folder() + "/copy.db'");
  (void)Ask(catalog.path(), kAlice, "EXPLAIN QUERY PLAN VACUUM INTO '" + catalog.folder() + "/copy.db'");
  (void)Ask(catalog.path(), kAlice, "ATTACH '" + catalog.folder() + "/copy.db' AS x");
  for (const auto& entry : std::filesystem::directory_iterator(catalog.folder())) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::StartsWith("catalog.db"));
  }
}

TEST(UserQuery, ShowsThePlan) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const Answer answer = Ask(catalog.path(), kAlice, "EXPLAIN QUERY PLAN SELECT id FROM run WHERE id = 'r1'");
  ASSERT_EQ(answer.rows.size(), 1u) << answer.Text();
  EXPECT_THAT(answer.rows[0], HasSubstr("SCAN run VIRTUAL TABLE INDEX 0:id="));
}

TEST(UserQuery, NamesItsColumns) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_THAT(Ask(catalog.path(), kAlice, "SELECT id, uid AS owner, 1 AS id, count(*) FROM run").columns,
              ElementsAre("id", "owner", "id", "count(*)"));
}

TEST(UserQuery, KeepsTypes) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT 1, 1.0, '1', x'31', NULL", {}, {});
  ASSERT_TRUE(query.ok());
  auto batch = (*query)->NextBatch();
  ASSERT_TRUE(batch.ok() && batch->has_value());
  const auto& columns = (*batch)->columns;
  EXPECT_EQ(columns[0][0], SqlValue(int64_t{1}));
  EXPECT_EQ(columns[1][0], SqlValue(1.0));
  EXPECT_EQ(columns[2][0], SqlValue(std::string("1")));
  EXPECT_EQ(columns[3][0], SqlValue(SqlBytes{"1"}));
  EXPECT_EQ(columns[4][0], SqlValue(std::monostate()));
}

// Limits.

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

// With others about.

TEST(UserQuery, FailsWithoutACatalog) {
  const Answer answer = Ask("/nonexistent/catalog.db", kAlice, "SELECT 1");
  EXPECT_EQ(answer.status.code(), ErrorCode::kNotFound) << answer.Text();
  EXPECT_THAT(answer.status.ToString(), HasSubstr("/nonexistent/catalog.db"));
}

TEST(UserQuery, FailsWhenSomethingElseIsNoCatalog) {
  SandboxCatalog catalog;
  const std::string path = catalog.folder() + "/other.db";
  std::ofstream(path) << std::string(4096, 'x');
  EXPECT_EQ(Ask(path, kAlice, "SELECT id FROM run").status.code(), ErrorCode::kStorageBroken);
}

TEST(UserQuery, SaysWhenTheCatalogStaysLocked) {
  SandboxCatalog catalog;
  SandboxCatalog::Expect(catalog.db().Execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  const std::string path = catalog.folder() + "/locked.db";
  std::filesystem::copy_file(catalog.path(), path);
  sqlite3* holder = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &holder), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(holder, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  const Answer answer = Ask(path, kAlice, "SELECT id FROM run", {.timeout_ms = 40});
  sqlite3_close(holder);
  EXPECT_EQ(ErrorName(answer.status.code()), "queue_full") << answer.Text();
  EXPECT_THAT(answer.status.ToString(), HasSubstr("database is locked; try again"));
}

TEST(UserQuery, GoesOnWhileAWriterWrites) {
  SandboxCatalog catalog;
  std::atomic<bool> done = false;
  std::atomic<int> written = 0;
  std::jthread writer([&] {
    for (int i = 0; !done || i < 20; ++i) {
      catalog.AddAtOnce(SomeRun("w" + std::to_string(i), kAlice.uid, false, "written"));
      written = i + 1;
    }
  });
  for (int i = 0; i < 50; ++i) {
    // Both sides see one moment, though they read one after the other.
    const Answer answer = Ask(catalog.path(), kAlice,
                              "SELECT (SELECT count(*) FROM run) - (SELECT count(*) FROM artifact), "
                              "(SELECT count(*) FROM run) - (SELECT count(*) FROM trust)");
    ASSERT_TRUE(answer.status.ok()) << answer.Text();
    EXPECT_THAT(answer.rows, ElementsAre("0|0"));
  }
  done = true;
  writer.join();
  EXPECT_GE(written, 20);
}

TEST(UserQuery, SeesOneMomentFromItsFirstRowOn) {
  SandboxCatalog catalog;
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run ORDER BY id", {.batch_rows = 1}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch().ok());
  catalog.AddAtOnce(SomeRun("r8", kAlice.uid, false, "late"));
  while (true) {
    auto batch = (*query)->NextBatch();
    ASSERT_TRUE(batch.ok());
    if (!batch->has_value()) break;
  }
  EXPECT_EQ((*query)->rows(), 3);
}

TEST(UserQuery, LetsGoOfTheCatalogAtItsEnd) {
  SandboxCatalog catalog;
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run", {}, {});
  ASSERT_TRUE(query.ok());
  ASSERT_TRUE((*query)->NextBatch().ok());
  ASSERT_FALSE((*query)->NextBatch()->has_value());
  catalog.AddAtOnce(SomeRun("r8", kAlice.uid, false, "late"));
  // A reader that held on would keep the checkpoint from finishing.
  EXPECT_EQ(*catalog.db().QueryInteger("PRAGMA wal_checkpoint(TRUNCATE)"), 0);
}

TEST(UserQuery, RunsManyAtATime) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Answer answer = Ask(catalog.path(), t % 2 == 0 ? kAlice : kOperator,
                                  "SELECT count(*) FROM (SELECT DISTINCT id FROM run ORDER BY command)");
        EXPECT_THAT(answer.rows, ElementsAre(t % 2 == 0 ? "3" : "6")) << answer.Text();
      }
    });
  }
}

TEST(UserQuery, MayMoveFromThreadToThread) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  auto query = UserQuery::Open(catalog.path(), kAlice, "SELECT id FROM run ORDER BY command", {.batch_rows = 1}, {});
  ASSERT_TRUE(query.ok());
  for (int i = 0; i < 3; ++i) {
    std::jthread([&] { EXPECT_TRUE((*query)->NextBatch()->has_value()); });
  }
  std::jthread([&] { EXPECT_FALSE((*query)->NextBatch()->has_value()); }).join();
  std::jthread([&] { query->reset(); });
}

}  // namespace
}  // namespace kprof
