// The sums of what each user has, against a count of all that is there.
#include "storage/catalog/retention.h"

#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

class OwnerTableTest : public testing::Test {
 protected:
  OwnerTableTest() { KPROF_CHECK(MakeCatalog(db_).ok()); }

  static RunRow RunOf(uint32_t uid, const std::string& id) {
    RunRow run = SampleRun(id);
    run.uid = uid;
    run.cwd = "/123";
    run.argv = {"abc", "de"};
    run.environment = {{"A", "b"}};
    run.labels = {{"k", "\xc3\xa4"}};  // bytes, not letters
    run.artifacts.clear();
    return run;
  }
  static constexpr int64_t kBareBytes = 4 + 7 + 4 + 3;

  static SessionRow SessionOf(uint32_t uid, const std::string& id, SessionState state) {
    SessionRow session;
    session.id = id;
    session.uid = uid;
    session.state = state;
    session.labels = {{"loop", "7"}};
    session.devices = {"0"};
    session.opened_ns = 1;
    if (state >= SessionState::kClosed) session.closed_ns = 2;
    return session;
  }

  OwnedSums Of(uint32_t uid) { return *ReadOwned(db_, uid); }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(OwnerTableTest, GrowsAndShrinksWithWhatIsThere) {
  EXPECT_EQ(Of(1), OwnedSums());
  RunRow run = RunOf(1, "a");
  run.artifacts = {{"x", 100, ""}};
  ASSERT_TRUE(InsertRun(db_, run).ok());
  ASSERT_TRUE(InsertRun(db_, RunOf(1, "b")).ok());
  ASSERT_TRUE(InsertRun(db_, RunOf(2, "c")).ok());
  EXPECT_EQ(Of(1), (OwnedSums{.runs = 2, .bytes = 2 * kBareBytes + 100}));
  EXPECT_EQ(Of(2), (OwnedSums{.runs = 1, .bytes = kBareBytes}));

  run.artifacts = {{"y", 30, ""}, {"z", 5, ""}};
  ASSERT_TRUE(UpdateRun(db_, run).ok());
  EXPECT_EQ(Of(1).bytes, 2 * kBareBytes + 35);
  ASSERT_TRUE(AddArtifact(db_, "a", {"y", 50, ""}).ok());
  EXPECT_EQ(Of(1).bytes, 2 * kBareBytes + 55);

  ASSERT_TRUE(DeleteRun(db_, "a").ok());
  EXPECT_EQ(Of(1), (OwnedSums{.runs = 1, .bytes = kBareBytes}));
  ASSERT_TRUE(DeleteRun(db_, "b").ok());
  EXPECT_EQ(Of(1), OwnedSums());
  EXPECT_EQ(Of(2).runs, 1);
}

TEST_F(OwnerTableTest, CountsSessionsAndTheirLabels) {
  for (const char* id : {"s1", "s2", "s3"}) {
    ASSERT_TRUE(InsertSession(db_, SessionOf(1, id, id[1] == '3' ? SessionState::kOpen : SessionState::kClosed)).ok());
  }
  RunRow round = RunOf(1, "r");
  round.labels.clear();
  round.session_id = "s1";
  round.round = 1;
  ASSERT_TRUE(InsertRun(db_, round).ok());
  EXPECT_EQ(Of(1), (OwnedSums{.runs = 1, .sessions = 3, .bytes = kBareBytes - 3 + 3 * 5}));

  // s1 has a round, s3 is open.
  EXPECT_TRUE(*DeleteOldestEmptySession(db_, 1));
  EXPECT_EQ(Of(1).sessions, 2);
  EXPECT_FALSE(*DeleteOldestEmptySession(db_, 1));
  EXPECT_FALSE(*DeleteOldestEmptySession(db_, 2));
  EXPECT_EQ(*db_.QueryInteger("SELECT count(*) FROM sessions WHERE id = 's2'"), 0);
}

}  // namespace
}  // namespace kprof
