// Which statements are answered and which are refused, with what words.
#include "storage/sandbox/user_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
        Allowed{"SELECT key, value FROM label WHERE run = 'r4'", "branch|shared"},                         //
        Allowed{"SELECT code, message FROM trust", "clocks_not_locked|one"},                               //
        Allowed{"SELECT name, size_bytes, sha256, path FROM artifact", "one.ncu-rep|4096|abone|out/one"},  //
        Allowed{"SELECT group_concat(device) FROM device WHERE run = 'r1'", "0,one"},                      //
        Allowed{"SELECT value FROM json_each('[7]')", "7"},                                                //
        Allowed{"SELECT d.value FROM run, json_each(run.devices) d WHERE d.value <> '0'", "one"},          //
        Allowed{"SELECT fullkey FROM json_tree('{\"a\":[1]}') WHERE atom = 1", "$.a[0]"},                  //
        Allowed{"WITH runs AS (SELECT 1 x) SELECT count(*) FROM runs", "1"},                               //
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

}  // namespace
}  // namespace kprof
