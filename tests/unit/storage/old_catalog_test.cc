// The catalogs of earlier versions, tests/data/state-v*/catalog.db, read with today's code.
#include <gtest/gtest.h>

#include <filesystem>

#include "storage/catalog/ceiling_table.h"
#include "storage/catalog/leftover_table.h"
#include "storage/catalog/owner_table.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/schema.h"
#include "storage/catalog/session_list.h"
#include "storage/catalog/session_table.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {
namespace {

class OldCatalogTest : public testing::Test {
 protected:
  Db OpenCopy(const std::string& state) {
    std::filesystem::copy_file(std::string(KPROF_SOURCE_DIR) + "/tests/data/" + state + "/catalog.db",
                               folder_ / "catalog.db");
    Result<Db> db = Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return *std::move(db);
  }

  TemporaryFolder folder_;
};

RunRow PlainRun(const std::string& id, int64_t queued_s) {
  RunRow run;
  run.id = id;
  run.uid = 1000;
  run.tool = "command";
  run.argv = {"/bin/sh", "-c", "true"};
  run.cwd = "/";
  run.environment = {{"OMP_NUM_THREADS", "4"}};
  run.devices = {"cpu"};
  run.queued_ns = (1'750'000'000 + queued_s) * 1'000'000'000;
  return run;
}

TEST_F(OldCatalogTest, Version1) {
  Db db = OpenCopy("state-v1");
  ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 1);
  Status migrated = MigrateCatalog(db);
  ASSERT_TRUE(migrated.ok()) << migrated.ToString();
  EXPECT_EQ(*db.QueryInteger("PRAGMA user_version"), CatalogVersion());
  EXPECT_EQ(*db.QueryInteger("SELECT value FROM facts WHERE name = 'clean_stop'"), 0);
  EXPECT_EQ(ReadOwned(db, 1000)->runs, *db.QueryInteger("SELECT count(*) FROM runs"));

  // Each field of a row is in one of these at least.
  RunRow done = PlainRun("1jxt21q00d0ne000", 0);
  done.state = RunState::kDone;
  done.argv = {"/bin/sh", "-c", "make report.txt"};
  done.labels = {{"branch", "main"}, {"size", "4096"}};
  done.devices = {"0", "1"};
  done.pinned = done.shared = true;
  done.idempotency_key = "first";
  done.timeout_ms = 60'000;
  done.queue_timeout_ms = 5'000;
  done.started_ns = 1'750'000'000'500'000'000;
  done.ended_ns = 1'750'000'002'000'000'000;
  done.exit_code = 0;
  done.stdout_bytes = 6000;
  done.stdout_dropped_bytes = 1804;
  done.stderr_bytes = 22;
  done.trust = {{"clocks_unlocked", "clocks were not locked"}, {"shared_gpu", "others used GPU 0"}};
  done.artifacts = {{"report.txt", 12, "d40b628baf7f757149f5b6d6d6aca317d478ef3a29433064d21cfdd06fb33b8d"},
                    {"stderr.log", 22, "5b317d30ae352cb03bb81f88f668e7cb1e73b54f6554b7bc825c83cfdd11c231"},
                    {"stdout.log", 4230, "40d17d9efbfc0d8722cf528a9e6fd881761aa1774dbb6e593d8036d24f84b3fb"}};
  done.metrics = {{.name = "wall_ms", .value = 1500, .unit = "ms"},
                  {.name = "gpu_ms", .value = 0.125, .unit = "ms", .kernel = "gemm", .launch = 0},
                  {.name = "gpu_ms", .value = 0.25, .unit = "ms", .kernel = "gemm", .launch = 1}};
  RunRow timed_out = PlainRun("1jxt22ah0t1me000", 20);
  timed_out.state = RunState::kFailed;
  timed_out.started_ns = 1'750'000'020'500'000'000;
  timed_out.ended_ns = 1'750'000'022'000'000'000;
  timed_out.signal = 9;
  timed_out.timeout_ms = 1000;
  timed_out.error = RunError{"timed_out", "run 1jxt22ah0t1me000: it ran longer than 1 s", "give it more"};
  RunRow queued = PlainRun("1jxt23vbgqveve00", 70);
  queued.argv = {"/bin/sh", "-c", "echo \"$GREETING\"; umask; pwd"};
  queued.labels = {{"kept", "yes"}};
  for (const RunRow& expected : {done, timed_out, queued}) {
    Result<RunRow> row = ReadRun(db, expected.id);
    ASSERT_TRUE(row.ok()) << row.status().ToString();
    EXPECT_TRUE(*row == expected) << expected.id;
  }

  std::string states;
  for (const RunRow& row : *ListRuns(db, {})) states += std::string(RunStateName(row.state)) + " ";
  EXPECT_EQ(states, "queued collecting running preparing cancelled failed failed done ");
  EXPECT_EQ(ReadOpenRuns(db)->size(), 4u);
  EXPECT_EQ(ReadCounts(db)->runs, 8);
  EXPECT_EQ(ReadCounts(db)->artifact_bytes, 12 + 22 + 4230 + 33);
  EXPECT_TRUE(InsertRun(db, PlainRun("1jxt24000000000", 80)).ok());
}

TEST_F(OldCatalogTest, Version2) {
  Db db = OpenCopy("state-v2");
  ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 2);
  ASSERT_TRUE(MigrateCatalog(db).ok());

  SessionRow open;
  open.id = "1jxt24500s0pen00";
  open.uid = 1000;
  open.state = SessionState::kOpen;
  open.clocks = "lock=1500";
  open.labels = {{"loop", "7"}};
  open.devices = {"cpu"};
  open.ttl_ms = 3'600'000;
  open.idle_timeout_ms = 600'000;
  open.opened_ns = 1'750'000'080'000'000'000;
  open.granted_ns = 1'750'000'081'000'000'000;
  open.expires_ns = 4'000'000'000'000'000'000;
  open.last_round = 2;
  open.trust = {{"clocks_not_locked", "the session asks for clocks 'lock=1500', and this version locks none"}};
  EXPECT_TRUE(*ReadSession(db, open.id) == open);
  SessionRow lost = *ReadSession(db, "1jxt24mxgs10st00");
  EXPECT_TRUE(lost.attached);
  EXPECT_EQ(lost.closed_ns, 1'750'000'095'000'000'000);
  EXPECT_EQ(lost.error->code, "lost_daemon");
  SessionRow queued = *ReadSession(db, "1jxt24q60sqvevex");
  EXPECT_EQ(queued.priority, 3);
  EXPECT_EQ(queued.queue_timeout_ms, 60'000);
  std::string states;
  for (const SessionRow& row : *ListSessions(db, {})) states += std::string(SessionStateName(row.state)) + " ";
  EXPECT_EQ(states, "queued lost closed closing open ");

  RunRow round = PlainRun("1jxt24tp0r0vnd02", 97);
  round.session_id = open.id;
  round.round = 2;
  round.priority = 5;
  EXPECT_TRUE(*ReadRun(db, round.id) == round);
  EXPECT_EQ(ListRounds(db, open.id, 0, 10)->size(), 2u);
  EXPECT_EQ(*db.QueryInteger("SELECT count(*) FROM audit WHERE action = 'open_session' AND run_id IS NULL"), 1);
  EXPECT_EQ(*TakeRound(db, open.id), 3);
}

// The same runs and sessions: what was counted as they came is what the migration counts.
TEST_F(OldCatalogTest, Version3) {
  OwnedSums kept;
  {
    Db db = OpenCopy("state-v3");
    ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 3);
    ASSERT_TRUE(MigrateCatalog(db).ok());
    kept = *ReadOwned(db, 1000);
  }
  EXPECT_EQ(kept.runs, 10);
  EXPECT_EQ(kept.sessions, 5);
  EXPECT_GT(kept.bytes, 12 + 22 + 4230 + 33);
  std::filesystem::remove(folder_ / "catalog.db");  // what belongs to it went when it was closed
  Db before = OpenCopy("state-v2");
  ASSERT_TRUE(MigrateCatalog(before).ok());
  EXPECT_EQ(*ReadOwned(before, 1000), kept);
}

TEST_F(OldCatalogTest, Version4) {
  Db db = OpenCopy("state-v4");
  ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 4);
  ASSERT_TRUE(MigrateCatalog(db).ok());
  const LeftoverRow left{"0", "1jxt22ah0t1me000", "00000000-0000-4000-8000-000000000001"};
  EXPECT_EQ(*ReadLeftovers(db), std::vector{left});
}

TEST_F(OldCatalogTest, Version5) {
  Db db = OpenCopy("state-v5");
  ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 5);
  ASSERT_TRUE(MigrateCatalog(db).ok());
  TracePartRow part;
  part.name = "rank3";
  part.rank = 3;
  part.source_name = "worker3.json.gz";
  part.source_format = "kineto";
  part.source_bytes = 2000;
  part.source_hash = "2000-0123456789abcdef0123456789abcdef";
  part.asked_format = "auto";
  part.asked_rank = 3;
  part.bytes = 900;
  part.slices = 50;
  part.instants = 4;
  part.counters = 3;
  part.flows = 2;
  part.tracks = 1;
  EXPECT_EQ(ReadRun(db, "1jxt22xm01mp0rt0")->trace, std::vector{part});
  const RunRow run = *ReadRun(db, "1jxt22xm01mp0rt0");
  EXPECT_EQ(run.clocks, "none") << "nobody could ask for any";
  EXPECT_EQ(run.cool_down_ms, 0);
  EXPECT_FALSE(run.exclusive);
}

TEST_F(OldCatalogTest, Version6) {
  Db db = OpenCopy("state-v6");
  ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 6);
  ASSERT_TRUE(MigrateCatalog(db).ok());
  const Result<int64_t> asked = db.QueryInteger("SELECT count(*) FROM runs WHERE clocks <> 'none'");
  EXPECT_EQ(*asked, 1);
  const RunRow run = *ReadRun(db, "1jxt21q00d0ne000");
  EXPECT_EQ(run.clocks, "lock=1500");
  EXPECT_EQ(run.cool_down_ms, 90'000);
  EXPECT_TRUE(run.exclusive);
  EXPECT_EQ(*ReadCeilings(db), std::vector<CeilingRow>{});
}

TEST_F(OldCatalogTest, Version7) {
  Db db = OpenCopy("state-v7");
  ASSERT_EQ(*db.QueryInteger("PRAGMA user_version"), 7);
  ASSERT_TRUE(MigrateCatalog(db).ok());
  const CeilingRow known{.device = "GPU-1",
                         .quantity = "dense_rate",
                         .dtype = "bf16",
                         .accumulate = "fp32",
                         .unit = "TFLOP/s",
                         .value = 780.5,
                         .run_id = "1jxt21q00d0ne000",
                         .uid = 1000,
                         .time_ns = 1750000090000000000,
                         .clocks = "lock",
                         .doubts = "power_capped"};
  EXPECT_EQ(*ReadCeilings(db), std::vector{known});
}

}  // namespace
}  // namespace kprof
