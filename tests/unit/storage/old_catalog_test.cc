// The catalogs of earlier versions, tests/data/state-v*/catalog.db, under today's code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "storage/catalog/catalog.h"
#include "storage/catalog/catalog_restore.h"
#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/device_records.h"
#include "storage/catalog/retention.h"
#include "storage/catalog/run_list.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"
#include "storage/db/statement.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/faulty_disk.h"

namespace kprof {
namespace {

namespace fs = std::filesystem;

std::string OldState(const std::string& name) {
  return std::string(KPROF_SOURCE_DIR) + "/tests/data/" + name;
}

struct OldCatalog {
  const char* state;
  int version;
  const char* report_path;  // of the artifact report.txt
  const char* device_key;   // of the device 1, and the name of its kind
  const char* device_name;
};

class OldCatalogTest : public testing::TestWithParam<OldCatalog> {
 protected:
  // Brought to this version.
  Db OpenCopy() {
    fs::copy_file(OldState(GetParam().state) + "/catalog.db", folder_ / "catalog.db");
    Result<Db> db = Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    EXPECT_EQ(*db->QueryInteger("PRAGMA user_version"), GetParam().version);
    const Status made = MakeCatalog(*db);
    EXPECT_TRUE(made.ok()) << made.ToString();
    EXPECT_EQ(*db->QueryInteger("PRAGMA user_version"), CatalogVersion());
    return *std::move(db);
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Versions, OldCatalogTest,
                         testing::Values(OldCatalog{"state-v8", 8, "", "", ""},
                                         OldCatalog{"state-v9", 9, "out/report.txt", "GPU-1", "NVIDIA H200"},
                                         OldCatalog{"state-v10", 10, "out/report.txt", "GPU-1", "NVIDIA H200"}),
                         [](const auto& info) { return std::to_string(info.param.version); });

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

TEST_P(OldCatalogTest, HasItsRuns) {
  Db db = OpenCopy();
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
  done.clocks = "lock=1500";
  done.cool_down_ms = 90'000;
  done.exclusive = true;
  constexpr int kWithVerdicts = 10;
  if (GetParam().version >= kWithVerdicts) done.verdict = RunVerdict{"FASTER", 0.5, 0.25, 0.75, {"drift", "bimodal"}};
  done.timeout_ms = 60'000;
  done.queue_timeout_ms = 5'000;
  done.started_ns = 1'750'000'000'500'000'000;
  done.ended_ns = 1'750'000'002'000'000'000;
  done.exit_code = 0;
  done.stdout_bytes = 6000;
  done.stdout_dropped_bytes = 1804;
  done.stderr_bytes = 22;
  done.trust = {{"clocks_unlocked", "clocks were not locked"}, {"shared_gpu", "others used GPU 0"}};
  done.artifacts = {
      {"report.txt", 12, "d40b628baf7f757149f5b6d6d6aca317d478ef3a29433064d21cfdd06fb33b8d", GetParam().report_path},
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
  EXPECT_EQ(states, "queued done queued collecting running preparing done cancelled failed failed done ");
  EXPECT_EQ(ReadOpenRuns(db)->size(), 5u);
  EXPECT_EQ(ReadCounts(db)->runs, 11);
  EXPECT_EQ(ReadCounts(db)->artifact_bytes, 12 + 22 + 4230 + 33 + 900);
  EXPECT_TRUE(InsertRun(db, PlainRun("1jxt25000000000", 100)).ok());
}

TEST_P(OldCatalogTest, HasItsSessions) {
  Db db = OpenCopy();

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

TEST_P(OldCatalogTest, HasWhatElseItKnew) {
  Db db = OpenCopy();
  const LeftoverRow left{"0", "1jxt22ah0t1me000", "00000000-0000-4000-8000-000000000001"};
  EXPECT_EQ(*ReadLeftovers(db), std::vector{left});
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
                         .doubts = "power_capped",
                         .device_name = GetParam().device_name};
  const std::vector<std::string> runs = {"1jxt21q00d0ne000"};
  const KnownCeilings ceilings = *ReadKnownCeilings(db, runs);
  EXPECT_EQ(ceilings.rows, std::vector{known});
  EXPECT_EQ(ceilings.devices_of_runs.at(runs[0]), (std::vector<std::string>{"", GetParam().device_key}));
  const OwnedSums owned = *ReadOwned(db, 1000);
  EXPECT_EQ(owned.runs, 11);
  EXPECT_EQ(owned.sessions, 5);
  EXPECT_GT(owned.bytes, 12 + 22 + 4230 + 33 + 900);
}

// All that a database says of its tables, but for the words in which they were made.
std::string TablesOf(Db& db) {
  std::string tables;
  Statement select(db, R"sql(
SELECT s.type, s.name, s.tbl_name, iif(s.type = 'table', '', s.sql),
       (SELECT json_group_array(json_array(c.name, c.type, c."notnull", c.dflt_value, c.pk, c.hidden))
        FROM pragma_table_xinfo(s.name) AS c)
FROM sqlite_schema AS s ORDER BY s.type, s.name)sql");
  while (select.Next()) {
    for (int i = 0; i < 5; ++i) tables += std::string(select.Text(i)) + "|";
    tables += "\n";
  }
  EXPECT_TRUE(select.status().ok()) << select.status().ToString();
  return tables;
}

TEST_P(OldCatalogTest, HasTheTablesOfANewOne) {
  Db old = OpenCopy();
  Db made = *Db::Open(folder_ / "new.db", {.mode = Db::Mode::kReadWrite});
  ASSERT_TRUE(MakeCatalog(made).ok());
  EXPECT_NE(TablesOf(old).find(R"(["path","TEXT",0,null,0,0]])"), std::string::npos);
  EXPECT_EQ(TablesOf(old), TablesOf(made));
}

// A state folder of version 8, on a disk that fails while its catalog is brought to this version.
class CatalogUpgradeTest : public testing::Test {
 protected:
  CatalogUpgradeTest() { BeginAgain(); }
  void BeginAgain() {
    fs::remove_all(layout_.state_folder);
    fs::copy(OldState("state-v8"), layout_.state_folder, fs::copy_options::recursive);
    disk_.plan.Forget();
  }
  Result<std::unique_ptr<Catalog>> Open() {
    return Catalog::Open({.layout = layout_, .vfs = disk_.vfs.name()}, disk_.files);
  }
  int64_t Version() {
    Result<Db> db = Db::Open(layout_.CatalogPath(), {.mode = Db::Mode::kReadWrite, .vfs = disk_.vfs.name()});
    EXPECT_TRUE(db.ok()) << db.status().ToString();
    return db.ok() ? *db->QueryInteger("PRAGMA user_version") : -1;
  }
  // It opens, is sound, and has what it had.
  void ExpectWhole() {
    Result<std::unique_ptr<Catalog>> catalog = Open();
    ASSERT_TRUE(catalog.ok()) << catalog.status().ToString();
    EXPECT_TRUE((*catalog)->QuickCheck({}).ok());
    ReaderPool::Lease reader = *(*catalog)->readers().Borrow();
    EXPECT_EQ(ListRuns(*reader, {})->size(), 11u);
    EXPECT_EQ(ReadRun(*reader, "1jxt21q00d0ne000")->artifacts.size(), 3u);
  }

  TemporaryFolder folder_;
  FaultyDisk disk_;
  const Layout layout_{folder_ / "state"};
};

TEST_F(CatalogUpgradeTest, IsWholeOrNotAtAllWhateverTheDiskDoes) {
  ASSERT_TRUE(Open().ok());
  const int64_t ops = disk_.plan.ops();
  ASSERT_GT(ops, 5);
  int old_ones = 0;
  int new_ones = 0;
  for (const Fault fault : {Fault::kNoSpace, Fault::kInputOutput, Fault::kTear, Fault::kPowerCut}) {
    for (int64_t at = 1; at <= ops; ++at) {
      SCOPED_TRACE(testing::Message() << "fault " << static_cast<int>(fault) << " from " << at << " of " << ops);
      BeginAgain();
      disk_.plan.FailAt(at, fault, /*lasting=*/true);
      (void)Open();
      if (fault == Fault::kPowerCut) {
        disk_.plan.RestoreSynced(FaultPlan::Survives::kSome, static_cast<uint64_t>(at));
      } else {
        disk_.plan.Heal();
      }
      const int64_t version = Version();
      ASSERT_TRUE(version == 8 || version == CatalogVersion()) << version;
      ++(version == 8 ? old_ones : new_ones);
      ExpectWhole();
      EXPECT_EQ(Version(), CatalogVersion());
    }
  }
  EXPECT_GT(old_ones, 5);
  EXPECT_GT(new_ones, 5);
}

TEST_F(CatalogUpgradeTest, ThatCannotBeLeavesTheCatalogAsItWas) {
  {
    Db db = *Db::Open(layout_.CatalogPath(), {.mode = Db::Mode::kReadWrite});
    ASSERT_TRUE(db.Execute("ALTER TABLE artifacts ADD COLUMN path TEXT").ok());  // somebody's own
  }
  const Status refused = Open().status();
  EXPECT_NE(refused.ToString().find("bring the catalog from version 8 to"), std::string::npos) << refused.ToString();
  EXPECT_EQ(Version(), 8);
}

TEST_F(CatalogUpgradeTest, ABackupOfVersion8IsRestoredAndBroughtToThisOne) {
  const std::string backup = folder_ / "backup.db";
  fs::copy_file(layout_.CatalogPath(), backup);
  ASSERT_TRUE(Open().ok());
  const Result<RestoredCatalog> restored = RestoreCatalog(layout_, backup, disk_.files, disk_.vfs.name());
  ASSERT_TRUE(restored.ok()) << restored.status().ToString();
  EXPECT_EQ(Version(), 8);
  ExpectWhole();
  EXPECT_EQ(Version(), CatalogVersion());
}

// A state folder from before the first release is refused, and each byte of it stays.
class OlderStateTest : public testing::Test {
 protected:
  OlderStateTest() { fs::copy(OldState("state-v7"), layout_.state_folder, fs::copy_options::recursive); }
  // A catalog of that version that is in its write-ahead log alone, as a kill soon after the first start leaves it.
  void MoveIntoLog() {
    const std::string path = layout_.CatalogPath();
    const std::string living = folder_ / "living.db";
    Db db = *Db::Open(living, {.mode = Db::Mode::kReadWrite});
    ASSERT_TRUE(db.Execute("PRAGMA wal_autocheckpoint = 0; BEGIN; CREATE TABLE runs (id); PRAGMA user_version = 7; "
                           "PRAGMA application_id = 0x6b70726f; COMMIT")
                    .ok());
    for (const char* part : {"", "-wal"}) {
      fs::copy_file(living + part, path + part, fs::copy_options::overwrite_existing);
    }
    Db without_log = *Db::Open(path, {.immutable = true});
    ASSERT_EQ(*without_log.QueryInteger("PRAGMA user_version"), 0);
  }
  std::map<std::string, std::string> Content() const {
    std::map<std::string, std::string> content;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(layout_.state_folder)) {
      std::string& bytes = content[entry.path()];
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    return content;
  }
  void ExpectRefusedUntouched() {
    const std::map<std::string, std::string> before = Content();
    const Status refused = Catalog::Open({.layout = layout_}, *files_).status();
    EXPECT_EQ(refused.code(), ErrorCode::kStorageBroken);
    EXPECT_NE(refused.what().find("open catalog in state folder " + layout_.state_folder), std::string::npos);
    EXPECT_EQ(refused.why(),
              "open catalog: it is version 7, from before the first release; this kprofd reads version 8 and later");
    EXPECT_NE(refused.remedy().find("move the state folder away, or choose another with --state-dir"),
              std::string::npos);
    EXPECT_TRUE(Content() == before);
  }

  TemporaryFolder folder_;
  const Layout layout_{folder_ / "state"};
  const std::unique_ptr<Files> files_ = MakePosixFiles();
};

TEST_F(OlderStateTest, IsRefusedAndNothingInItIsTouched) {
  ExpectRefusedUntouched();
}

TEST_F(OlderStateTest, IsRefusedWhereTheVersionIsInTheLogOfAKilledDaemonAlone) {
  MoveIntoLog();
  ExpectRefusedUntouched();
}

TEST_F(OlderStateTest, IsRefusedWhereARestoreOfItWasInterrupted) {
  fs::create_directory(layout_.ReplacedFolder());
  fs::copy_file(layout_.CatalogPath(), layout_.RestoredCatalogPath());
  fs::rename(layout_.CatalogPath(), layout_.ReplacedFolder() + "/catalog.db");
  ExpectRefusedUntouched();
}

TEST_F(OlderStateTest, ItsBackupIsNotRestored) {
  const std::string backup = folder_ / "backup.db";
  fs::copy_file(layout_.CatalogPath(), backup);
  const std::map<std::string, std::string> before = Content();
  const Status refused = RestoreCatalog(layout_, backup, *files_).status();
  EXPECT_EQ(refused.code(), ErrorCode::kBadInput);
  EXPECT_NE(refused.why().find("it is version 7"), std::string::npos) << refused.ToString();
  EXPECT_NE(refused.remedy().find("restore it with the version that wrote it"), std::string::npos);
  EXPECT_TRUE(Content() == before);
}

}  // namespace
}  // namespace kprof
