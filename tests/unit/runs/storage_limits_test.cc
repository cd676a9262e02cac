#include "daemon/runs/retention/storage_limits.h"

#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

class StorageLimitsTest : public testing::Test {
 protected:
  StorageLimitsTest() { KPROF_CHECK(MakeCatalog(db_).ok()); }

  void AddRun(const std::string& id, const std::string& session_id = "") {
    RunRow run = SampleRun(id);
    run.session_id = session_id;
    if (!session_id.empty()) run.round = 1;
    run.uid = 1000;
    ASSERT_TRUE(InsertRun(db_, run).ok());
  }
  void AddSession(const std::string& id, SessionState state) {
    SessionRow session;
    session.id = id;
    session.uid = 1000;
    session.state = state;
    session.opened_ns = 1;
    if (state >= SessionState::kClosed) session.closed_ns = 2;
    ASSERT_TRUE(InsertSession(db_, session).ok());
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
  StorageLimits limits_;
};

TEST_F(StorageLimitsTest, WithoutThemEverythingFits) {
  AddRun("a");
  AddSession("s", SessionState::kOpen);
  EXPECT_TRUE(limits_.CheckRun(db_, 1000, "store it").ok());
  EXPECT_TRUE(limits_.CheckBytes(db_, 1000, int64_t{1} << 60, "store it").ok());
  EXPECT_TRUE(limits_.MakeRoomForSession(db_, 1000, "store it").ok());
}

TEST_F(StorageLimitsTest, CountsRunsOfEachUser) {
  limits_.Set({.runs_per_uid = 2});
  AddRun("a");
  EXPECT_TRUE(limits_.CheckRun(db_, 1000, "store it").ok());
  AddRun("b");
  Status refused = limits_.CheckRun(db_, 1000, "store it");
  EXPECT_EQ(refused.code(), ErrorCode::kStorageFull);
  EXPECT_EQ(refused.why(), "uid 1000 has 2 runs stored, and may have 2");
  EXPECT_NE(refused.remedy().find("kprofctl delete"), std::string::npos);
  EXPECT_TRUE(limits_.CheckRun(db_, 1001, "store it").ok());
}

TEST_F(StorageLimitsTest, CountsBytesOfEachUser) {
  AddRun("a");
  const int64_t stored = ReadOwned(db_, 1000)->bytes;
  ASSERT_GT(stored, 0);
  limits_.Set({.bytes_per_uid = stored + 10});
  EXPECT_TRUE(limits_.CheckRun(db_, 1000, "store it").ok());
  EXPECT_TRUE(limits_.CheckBytes(db_, 1000, 10, "add").ok());
  EXPECT_EQ(limits_.CheckBytes(db_, 1000, 11, "add").code(), ErrorCode::kStorageFull);
  EXPECT_TRUE(limits_.CheckBytes(db_, 1001, 11, "add").ok());
  limits_.Set({.bytes_per_uid = stored});
  EXPECT_EQ(limits_.CheckRun(db_, 1000, "store it").code(), ErrorCode::kStorageFull);
}

TEST_F(StorageLimitsTest, AnEndedSessionWithoutRunsMakesRoomForANewOne) {
  limits_.Set({.runs_per_uid = 2});
  AddSession("s1", SessionState::kClosed);
  AddSession("s2", SessionState::kClosed);
  AddRun("r", "s1");
  EXPECT_TRUE(limits_.MakeRoomForSession(db_, 1000, "store it").ok());
  EXPECT_EQ(*db_.QueryInteger("SELECT count(*) FROM sessions WHERE id = 's2'"), 0);
  AddSession("s3", SessionState::kOpen);
  EXPECT_EQ(limits_.MakeRoomForSession(db_, 1000, "store it").code(), ErrorCode::kStorageFull);
  EXPECT_EQ(ReadOwned(db_, 1000)->sessions, 2);
}

TEST_F(StorageLimitsTest, AFairPartIsSomeOfTheDisk) {
  EXPECT_GT(*FairBytesPerUid(folder_.path()), 0);
  EXPECT_FALSE(FairBytesPerUid(folder_ / "missing").ok());
  EXPECT_GT(*KeptFreeBytes(folder_.path()), 0);
  EXPECT_LE(*KeptFreeBytes(folder_.path()), int64_t{1} << 30);
  EXPECT_FALSE(KeptFreeBytes(folder_ / "missing").ok());
}

}  // namespace
}  // namespace kprof
