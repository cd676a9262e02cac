// What a viewer must not see leaves no trace in any answer: each question is put to two catalogs, one with the runs of
// others and one that never had them, and both must answer alike, word for word, failures included.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SandboxCatalog& Without() {
  static SandboxCatalog catalog(SandboxCatalog::Hidden::kAbsent);
  return catalog;
}

TEST(Visibility, IsOwnRunsAndThoseThatOthersShare) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const char* sql = "SELECT group_concat(id) FROM (SELECT id FROM run ORDER BY id)";
  EXPECT_THAT(Ask(catalog.path(), kAlice, sql).rows, ElementsAre("r1,r2,r4"));
  EXPECT_THAT(Ask(catalog.path(), kBob, sql).rows, ElementsAre("r0,r3,r4"));
  EXPECT_THAT(Ask(catalog.path(), kNobody, sql).rows, ElementsAre("r4"));
  EXPECT_THAT(Ask(catalog.path(), kOperator, sql).rows, ElementsAre("r0,r1,r2,r3,r4,r9"));
}

TEST(Visibility, IsTheSameForWhatHangsOnARun) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  for (const char* table : {"artifact", "metric", "label", "device", "trust", "trace"}) {
    const std::string sql =
        std::string("SELECT group_concat(run) FROM (SELECT DISTINCT run FROM ") + table + " ORDER BY run)";
    EXPECT_THAT(Ask(catalog.path(), kAlice, sql).rows, ElementsAre("r1,r2,r4")) << table;
    EXPECT_THAT(Ask(catalog.path(), kBob, sql).rows, ElementsAre("r0,r3,r4")) << table;
    EXPECT_THAT(Ask(catalog.path(), kNobody, sql).rows, ElementsAre("r4")) << table;
    EXPECT_THAT(Ask(catalog.path(), kOperator, sql).rows, ElementsAre("r0,r1,r2,r3,r4,r9")) << table;
  }
}

TEST(Visibility, OfSessionsIsTheirOwnersAndOperators) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  for (const char* order : {"", " ORDER BY id", " ORDER BY uid, id", " WHERE id >= 's' ORDER BY id"}) {
    const std::string sql = std::string("SELECT group_concat(id) FROM (SELECT id FROM session") + order + ")";
    EXPECT_THAT(Ask(catalog.path(), kAlice, sql).rows, ElementsAre("s1")) << sql;
    EXPECT_THAT(Ask(catalog.path(), kBob, sql).rows, ElementsAre("s0")) << sql;
    EXPECT_THAT(Ask(catalog.path(), kNobody, sql).rows, ElementsAre("NULL")) << sql;
  }
  EXPECT_THAT(Ask(catalog.path(), kOperator, "SELECT id FROM session ORDER BY id").rows, ElementsAre("s0", "s1", "s2"));
  EXPECT_THAT(Ask(catalog.path(), kAlice, "SELECT count(*) FROM session WHERE id = 's0'").rows, ElementsAre("0"));
  EXPECT_THAT(
      Ask(catalog.path(), kAlice, "SELECT state, devices, labels, clocks, granted_ns - opened_ns FROM session").rows,
      ElementsAre("open|[\"0\",\"one\"]|{\"branch\":\"one\"}|lock=one|7"));
}

TEST(Visibility, OfARunOfOnesOwnThatIsSharedComesOnce) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_THAT(Ask(catalog.path(), kBob, "SELECT count(*) FROM run WHERE id = 'r4'").rows, ElementsAre("1"));
  EXPECT_THAT(Ask(catalog.path(), kBob, "SELECT count(*) FROM trust WHERE run >= 'r4'").rows, ElementsAre("1"));
}

TEST(Visibility, OfTheHighestUidWorks) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_THAT(Ask(catalog.path(), {.uid = 4294967295}, "SELECT id FROM run").rows, ElementsAre("r4"));
}

TEST(Visibility, OfTheAuditIsForAdmins) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const char* sql = "SELECT group_concat(run) FROM (SELECT run FROM audit ORDER BY id)";
  EXPECT_THAT(Ask(catalog.path(), kAdmin, sql).rows, ElementsAre("r1,r0"));
  for (const Viewer& viewer : {kAlice, kBob, kNobody, kOperator}) {
    EXPECT_THAT(Ask(catalog.path(), viewer, sql).rows, ElementsAre("NULL")) << viewer.uid;
    EXPECT_THAT(Ask(catalog.path(), viewer, "SELECT count(*) FROM audit WHERE run = 'r1'").rows, ElementsAre("0"));
  }
}

TEST(Visibility, EndsWithSharing) {
  SandboxCatalog catalog;
  SandboxCatalog::Expect(catalog.db().Execute("UPDATE runs SET shared = 0"));
  EXPECT_THAT(Ask(catalog.path(), kNobody, "SELECT count(*) FROM run").rows, ElementsAre("0"));
  EXPECT_THAT(Ask(catalog.path(), kNobody, "SELECT count(*) FROM label").rows, ElementsAre("0"));
}

// The proof that the questions below would find something: an operator's answers do differ.
TEST(Visibility, LeaksAreFoundByThisTest) {
  const char* sql = "SELECT * FROM label WHERE json_extract('{}', value) = 1";
  const Answer answer = Ask(SandboxCatalog::Shared().path(), kOperator, "SELECT * FROM run");
  EXPECT_THAT(answer.Text(), HasSubstr("SECRET"));
  EXPECT_NE(answer.Text(), Ask(Without().path(), kOperator, "SELECT * FROM run").Text());
  EXPECT_NE(Ask(SandboxCatalog::Shared().path(), kOperator, sql).Text(), "ok\n");
}

class Hostile : public ::testing::TestWithParam<const char*> {};

TEST_P(Hostile, QuestionsAreAnsweredAsIfTheHiddenWereNotThere) {
  for (const Viewer& viewer : {kAlice, kNobody}) {
    const std::string with = Ask(SandboxCatalog::Shared().path(), viewer, GetParam()).Text();
    const std::string without = Ask(Without().path(), viewer, GetParam()).Text();
    EXPECT_EQ(with, without);
    EXPECT_THAT(with, Not(HasSubstr("SECRET")));
  }
}

#define ENDLESS "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c LIMIT 1)"

// Conditions that fail or work endlessly on rows that match: where SQLite may evaluate them before the rows are chosen.
INSTANTIATE_TEST_SUITE_P(
    Oracles, Hostile,
    ::testing::Values(
        "SELECT * FROM run WHERE json_extract('{}', command)",
        "SELECT * FROM label WHERE json_extract('{}', value) = 1",
        "SELECT * FROM label WHERE key = 'path' AND value LIKE '$.S%' AND json_extract('{}', value || ' x')",
        "SELECT * FROM label WHERE value LIKE '%SECRET%' AND json(value)",
        "SELECT * FROM trust WHERE message = 'SECRET' AND abs(-9223372036854775808)",
        "SELECT * FROM trust WHERE CASE WHEN message LIKE 'SEC%' THEN json('{' || message) END",
        "SELECT * FROM run WHERE CASE WHEN uid = 1001 AND shared = 0 THEN abs(-9223372036854775808) END",
        "SELECT * FROM run WHERE CASE WHEN uid = 1002 THEN " ENDLESS " END",
        "SELECT * FROM run WHERE command LIKE '%SECRET%' AND " ENDLESS " > 0",
        "SELECT * FROM artifact WHERE CASE WHEN name >= 'SECRET' AND name < 'SECRETZ' THEN " ENDLESS " END",
        "SELECT * FROM metric WHERE unit = 'SECRET' AND json('{') = 1",
        "SELECT * FROM metric WHERE kernel = 'gemm SECRET' AND printf('%s', zeroblob(99999999)) = 1",
        "SELECT * FROM device WHERE device = 'SECRET' AND zeroblob(99999999)",
        "SELECT * FROM label WHERE value = 'SECRET' OR json_extract('{}', value) IS NULL AND key = 'path'",
        "SELECT * FROM label LEFT JOIN run ON run.id = label.run AND json_extract('{}', label.value)",
        "SELECT * FROM run LEFT JOIN label ON label.run = run.id AND json_extract('{}', label.value)",
        "SELECT * FROM run RIGHT JOIN label ON json_extract('{}', label.value) WHERE label.key = 'path'",
        "SELECT * FROM label a JOIN label b ON a.value = b.value AND json_extract('{}', b.value) WHERE a.key = 'path'",
        "SELECT json_group_array(json_extract('{}', value)) FROM label WHERE key = 'path'",
        "SELECT * FROM label ORDER BY json_extract('{}', value)",
        "SELECT json_extract('{}', value) AS v FROM label GROUP BY v HAVING v IS NULL",
        "SELECT * FROM run WHERE id > 'r2' AND 'x' LIKE 'y' ESCAPE command",
        "SELECT * FROM run WHERE id IN ('r0', 'r3', 'r9') AND json_extract('{}', cwd)",
        "SELECT * FROM run WHERE id IN (SELECT run FROM label WHERE json_extract('{}', value))",
        "SELECT * FROM run, json_each(run.labels) j WHERE json_extract('{}', j.value)",
        "SELECT * FROM run, json_each(run.command)"));

INSTANTIATE_TEST_SUITE_P(
    Lookups, Hostile,
    ::testing::Values(
        "SELECT * FROM run WHERE id = 'r0'", "SELECT count(*) FROM run WHERE id IN ('r0', 'r1', 'r9')",
        "SELECT * FROM run WHERE id = 'r0' OR 1 = 1", "SELECT * FROM run WHERE uid = 1001 OR uid = 1002 OR id = 'r3'",
        "SELECT * FROM run WHERE uid <> 1000", "SELECT * FROM run WHERE uid IS NOT NULL",
        "SELECT * FROM run WHERE shared = 0", "SELECT * FROM run WHERE pinned = 0 AND ended_ns > 0",
        "SELECT * FROM run WHERE id > 'r2' ORDER BY id", "SELECT * FROM run WHERE id < 'r1' ORDER BY id DESC",
        "SELECT * FROM run WHERE NOT (uid = 1000 OR shared = 1)",
        "SELECT * FROM run WHERE queued_ns >= 0 OR uid = 1002", "SELECT * FROM artifact WHERE run = 'r0'",
        "SELECT * FROM artifact WHERE name = 'SECRET.ncu-rep'",
        "SELECT * FROM metric WHERE run = 'r3' AND name = 'dram'", "SELECT * FROM metric WHERE run IN ('r0', 'r9')",
        "SELECT * FROM label WHERE key = 'branch' AND value = 'SECRET'",
        "SELECT * FROM label WHERE run = 'r0' OR key = 'branch'", "SELECT * FROM device WHERE run > 'r2'",
        "SELECT * FROM trust WHERE run = 'r9' OR code = 'clocks_not_locked'", "SELECT max(id), min(id) FROM run",
        "SELECT * FROM run ORDER BY id LIMIT 1", "SELECT * FROM run ORDER BY id DESC LIMIT 1 OFFSET 1",
        "SELECT run FROM metric ORDER BY run DESC LIMIT 1", "SELECT * FROM run LIMIT 0, 100"));

INSTANTIATE_TEST_SUITE_P(
    Shapes, Hostile,
    ::testing::Values(
        "SELECT count(*) FROM run", "SELECT count(*) FROM run, metric", "SELECT 1 FROM label",
        "SELECT count(*) FROM artifact NATURAL JOIN metric", "SELECT sum(value) FROM metric",
        "SELECT EXISTS (SELECT 1 FROM run WHERE uid = 1002)", "SELECT (SELECT command FROM run WHERE id = 'r0')",
        "SELECT id FROM run UNION SELECT run FROM label UNION ALL SELECT run FROM metric",
        "SELECT run FROM label EXCEPT SELECT id FROM run", "SELECT run FROM trust INTERSECT SELECT 'r0'",
        "WITH t AS (SELECT * FROM run) SELECT * FROM t WHERE uid = 1002",
        "WITH t AS MATERIALIZED (SELECT * FROM run) SELECT count(*) FROM t",
        "WITH t AS NOT MATERIALIZED (SELECT * FROM label) SELECT * FROM t WHERE json_extract('{}', value)",
        "WITH runs AS (SELECT * FROM run) SELECT * FROM runs",
        "WITH run_labels AS (SELECT * FROM label) SELECT * FROM run_labels",
        "SELECT * FROM (SELECT * FROM (SELECT * FROM run)) WHERE uid > 1000",
        "SELECT * FROM run a, run b WHERE a.id <> b.id AND a.uid <> b.uid",
        "SELECT r.id, l.value FROM run r LEFT JOIN label l ON l.run <> r.id",
        "SELECT run.id, label.run FROM run FULL JOIN label ON run.id = label.run AND label.value = 'SECRET'",
        "SELECT id, count(*) OVER (), sum(uid) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED "
        "FOLLOWING) FROM run",
        "SELECT uid, group_concat(id) FROM run GROUP BY uid", "SELECT DISTINCT uid FROM run",
        "SELECT * FROM run WHERE (id, uid) = ('r0', 1001)",
        "SELECT * FROM run WHERE (id, uid) IN (SELECT 'r0', 1001 UNION SELECT 'r1', 1000)",
        "WITH RECURSIVE w(id) AS (SELECT 'r0' UNION SELECT run.id FROM run, w) SELECT * FROM w WHERE id <> 'r' || '0'",
        "SELECT m.run FROM run r JOIN metric m USING (uid)",
        "EXPLAIN QUERY PLAN SELECT * FROM run, label WHERE id = run"));

// Ways to the raw tables, which this connection does not have.
INSTANTIATE_TEST_SUITE_P(
    RawTables, Hostile,
    ::testing::Values(
        "SELECT * FROM runs", "SELECT * FROM main.runs", "SELECT * FROM temp.runs", "SELECT * FROM \"main\".\"runs\"",
        "SELECT * FROM [runs]", "SELECT * FROM `runs`", "SELECT count(*) FROM runs", "SELECT 1 FROM main.runs",
        "SELECT count(*) FROM main.run_labels", "SELECT rowid FROM runs", "SELECT * FROM run_trust",
        "SELECT * FROM facts", "SELECT * FROM catalog.runs", "SELECT * FROM 'runs'",
        "WITH run AS (SELECT * FROM main.runs) SELECT * FROM run", "WITH run AS (SELECT * FROM runs) SELECT * FROM run",
        "WITH run AS MATERIALIZED (SELECT * FROM main.runs) SELECT command FROM run",
        "WITH label AS (SELECT * FROM main.run_labels) SELECT * FROM label, run",
        "SELECT * FROM (SELECT * FROM main.runs) AS run", "SELECT * FROM run WHERE id IN main.runs",
        "SELECT * FROM run WHERE id IN (SELECT id FROM main.runs)",
        "SELECT (SELECT argv FROM main.runs WHERE id = run.id) FROM run", "SELECT * FROM run JOIN main.runs USING (id)",
        "SELECT * FROM run UNION SELECT * FROM main.runs", "SELECT argv FROM run", "SELECT run.argv FROM run",
        "SELECT environment FROM run", "SELECT idempotency_key FROM run", "SELECT run_id FROM label",
        "SELECT * FROM run('r0')", "SELECT * FROM run(1)", "SELECT * FROM run INDEXED BY runs_by_owner",
        "SELECT * FROM run NOT INDEXED", "SELECT * FROM run AS runs", "SELECT runs.* FROM run AS runs",
        "SELECT sql FROM sqlite_master", "SELECT * FROM sqlite_dbpage", "SELECT * FROM sqlite_dbdata",
        "SELECT * FROM dbstat", "SELECT * FROM pragma_table_list", "SELECT * FROM bytecode('SELECT * FROM run')",
        "SELECT * FROM tables_used('SELECT * FROM run')", "ATTACH 'catalog.db' AS c", "SELECT load_extension('/tmp/x')",
        "PRAGMA table_list", "EXPLAIN SELECT * FROM run"));

}  // namespace
}  // namespace kprof
