#include "storage/sandbox/catalog_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/storage_sandbox/plain_tables.h"
#include "tests/unit/storage_sandbox/sandbox_catalog.h"

namespace kprof {
namespace {

using ::testing::HasSubstr;

TEST(CatalogModule, AnswersAsPlainTablesWould) {
  SandboxCatalog catalog;
  SandboxCatalog::Expect(catalog.db().Execute("BEGIN"));
  for (int i = 0; i < 60; ++i) {
    RunRow run = SomeRun("x" + std::to_string(100 + i), 1000 + static_cast<uint32_t>(i % 3), i % 4 == 0,
                         "w" + std::to_string(i % 5));
    run.tool = i % 2 == 0 ? "ncu" : "nsys";
    run.queued_ns += i;
    if (i % 7 == 0) run.started_ns.reset();
    if (i % 6 == 0) run.exit_code.reset();
    run.metrics[0].value = i % 10;
    if (i % 9 == 0) run.labels.clear();
    catalog.Add(run);
  }
  SandboxCatalog::Expect(catalog.db().Execute("COMMIT"));
  PlainTables reference(catalog.path());

  for (const char* sql :
       {"SELECT * FROM run",
        "SELECT * FROM run WHERE id = 'x105'",
        "SELECT * FROM run WHERE id = 105",
        "SELECT * FROM run WHERE id > 'x110' AND id <= 'x120'",
        "SELECT * FROM run WHERE id > 'x' AND id < 'x2' AND tool = 'ncu'",
        "SELECT * FROM run WHERE id = 'x101' OR id = 'x102' OR tool = 'nsys'",
        "SELECT * FROM run WHERE uid = '1001'",
        "SELECT * FROM run WHERE uid = 1001.0",
        "SELECT * FROM run WHERE uid < 'a'",
        "SELECT * FROM run WHERE exit_code = NULL",
        "SELECT * FROM run WHERE exit_code IS NULL",
        "SELECT * FROM run WHERE exit_code >= 0",
        "SELECT * FROM run WHERE started_ns < 0",
        "SELECT * FROM run WHERE id IN ('x101', 'x150', 'nope') AND uid IN (1000, 1001)",
        "SELECT * FROM run WHERE tool = 'NCU' COLLATE NOCASE",
        "SELECT * FROM run WHERE 'x110' = id",
        "SELECT * FROM run WHERE id = x'78313035'",
        "SELECT * FROM run WHERE state = 'done' AND shared",
        "SELECT * FROM metric WHERE kernel = ''",
        "SELECT * FROM metric WHERE kernel IS NULL",
        "SELECT * FROM metric WHERE kernel > 'gemm w2'",
        "SELECT * FROM metric WHERE kernel < 'gemm w2'",
        "SELECT * FROM metric WHERE value = 3",
        "SELECT * FROM metric WHERE value > '3'",
        "SELECT * FROM metric WHERE value BETWEEN 2 AND 4 AND name = 'gpu_ms'",
        "SELECT * FROM metric WHERE run = 'x103' OR run = 'x104' OR value = 1",
        "SELECT * FROM metric WHERE launch = 3",
        "SELECT * FROM label WHERE key = 'branch' AND value = 'w3'",
        "SELECT * FROM label WHERE (run, key) IN (SELECT id, 'branch' FROM run WHERE uid = 1000)",
        "SELECT r.id, m.value FROM run r JOIN metric m ON m.run = r.id AND m.name = 'gpu_ms'",
        "SELECT r.id, m.value FROM run r LEFT JOIN metric m ON m.run = r.id AND m.value > 5",
        "SELECT r.id, l.value FROM run r LEFT JOIN label l ON l.run = r.id AND l.key = 'branch' WHERE l.run IS NULL",
        "SELECT r.id, l.value FROM label l RIGHT JOIN run r ON l.run = r.id AND l.key = 'path'",
        "SELECT l.value, count(*), avg(m.value) FROM label l JOIN metric m ON m.run = l.run WHERE l.key = 'branch' "
        "GROUP BY 1",
        "SELECT a.id, b.id FROM run a JOIN run b ON b.id > a.id AND b.uid = a.uid AND b.tool <> a.tool",
        "SELECT uid, count(*), max(id) FROM run GROUP BY uid",
        "SELECT DISTINCT uid FROM run",
        "SELECT count(DISTINCT run) FROM metric",
        "SELECT run, count(*) FROM metric GROUP BY run",
        "SELECT DISTINCT run FROM label WHERE run > 'x130'",
        "SELECT id, (SELECT count(*) FROM metric WHERE run = id), EXISTS (SELECT 1 FROM label WHERE run = id AND key = "
        "'nope') FROM run",
        "SELECT id FROM run WHERE (SELECT max(value) FROM metric m WHERE m.run = run.id AND m.name = 'gpu_ms') > 7",
        "SELECT run FROM metric WHERE run IN (SELECT run FROM label WHERE value = 'w1') EXCEPT SELECT id FROM run "
        "WHERE uid = 1000",
        "WITH r AS MATERIALIZED (SELECT * FROM run) SELECT count(*), min(id) FROM r",
        "SELECT count(*) FROM run, device",
        "SELECT id, rank() OVER (PARTITION BY uid ORDER BY queued_ns, id) FROM run"}) {
    EXPECT_EQ(Sorted(Ask(catalog.path(), kOperator, sql).rows), Sorted(reference.Rows(sql))) << sql;
  }
  for (const char* sql :
       {"SELECT id FROM run ORDER BY id", "SELECT id FROM run ORDER BY id DESC",
        "SELECT id FROM run ORDER BY id DESC, uid LIMIT 5 OFFSET 2",
        "SELECT id FROM run WHERE id IN ('x130', 'x110', 'x120') ORDER BY id DESC",
        "SELECT id FROM run WHERE uid = 1001 ORDER BY id DESC LIMIT 3",
        "SELECT id FROM run WHERE id > 'x120' AND tool = 'nsys' ORDER BY id LIMIT 4",
        "SELECT id FROM run ORDER BY id COLLATE NOCASE DESC", "SELECT id FROM run ORDER BY uid, id DESC",
        "SELECT run, position FROM metric ORDER BY run, position",
        "SELECT run, name FROM metric ORDER BY run DESC, name",
        "SELECT r.id, l.key FROM run r JOIN label l ON l.run = r.id ORDER BY r.id DESC, l.key",
        "SELECT id FROM run ORDER BY id DESC NULLS LAST", "SELECT DISTINCT uid, id FROM run ORDER BY id DESC",
        "SELECT run, max(value) FROM metric GROUP BY run ORDER BY run DESC LIMIT 7",
        "SELECT id FROM run WHERE id = 'x101' OR id = 'x100' ORDER BY id"}) {
    EXPECT_EQ(Ask(catalog.path(), kOperator, sql).rows, reference.Rows(sql)) << sql;
  }
}

TEST(CatalogModule, HandsConditionsAndOrderInside) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  const auto plan = [&](const std::string& sql) {
    return Ask(catalog.path(), kAlice, "EXPLAIN QUERY PLAN " + sql).Text();
  };
  EXPECT_THAT(plan("SELECT uid FROM run WHERE id = 'r1' AND tool = 'ncu'"), HasSubstr("0:id= tool="));
  EXPECT_THAT(plan("SELECT uid FROM run ORDER BY id DESC LIMIT 3"), HasSubstr("0:desc"));
  EXPECT_THAT(plan("SELECT r.uid FROM run r JOIN metric m ON m.run = r.id WHERE m.value > 3"), HasSubstr("run="));
  EXPECT_THAT(plan("SELECT unit FROM metric WHERE run IN (SELECT run FROM label WHERE key = 'branch')"),
              HasSubstr("0:run=any"));
  EXPECT_THAT(plan("SELECT uid FROM run WHERE id = 'R1' COLLATE NOCASE"), ::testing::Not(HasSubstr("id=")));
}

TEST(CatalogModule, ComputesWhatCostsSomethingOnlyWhenAsked) {
  SandboxCatalog& catalog = SandboxCatalog::Shared();
  EXPECT_THAT(Ask(catalog.path(), kAlice, "EXPLAIN QUERY PLAN SELECT id FROM run").Text(), HasSubstr("INDEX 0:"));
  EXPECT_THAT(Ask(catalog.path(), kAlice, "EXPLAIN QUERY PLAN SELECT state FROM run").Text(), HasSubstr("INDEX 8:"));
}

TEST(CatalogModule, ShowsBytesThatAreNotUtf8) {
  SandboxCatalog catalog;
  RunRow run = SomeRun("r5", kAlice.uid, false, "x");
  run.argv = {"./run\xff", "a\nb", ""};
  run.cwd = "/tmp/\xfe";
  catalog.Add(run);
  EXPECT_THAT(Ask(catalog.path(), kAlice, "SELECT command, cwd FROM run WHERE id = 'r5'").rows,
              ::testing::ElementsAre("$'./run\\xff' $'a\\x0ab' ''|/tmp/\\xfe"));
}

TEST(CatalogModule, NamesEveryState) {
  SandboxCatalog catalog;
  for (int i = 0; i <= static_cast<int>(RunState::kCancelled); ++i) {
    SandboxCatalog::Expect(
        catalog.db().Execute(("UPDATE runs SET state = " + std::to_string(i) + " WHERE id = 'r1'").c_str()));
    EXPECT_THAT(Ask(catalog.path(), kAlice, "SELECT state FROM run WHERE id = 'r1'").rows,
                ::testing::ElementsAre(std::string(RunStateName(static_cast<RunState>(i)))));
  }
}

}  // namespace
}  // namespace kprof
