#include "storage/catalog/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalog/catalog_schema.h"
#include "storage/catalog/run_table.h"
#include "storage/catalog/session_table.h"
#include "tests/fakes/base/temporary_folder.h"
#include "tests/fakes/storage/sample_runs.h"

namespace kprof {
namespace {

class RetentionTest : public testing::Test {
 protected:
  // Named so that the order of ids is not the order of ends.
  RetentionTest() {
    KPROF_CHECK(MakeCatalog(db_).ok());
    RunRow pinned = EndedRun("pinned", 1, 1000);
    pinned.pinned = true;
    RunRow endless = EndedRun("endless", 0, 1000);
    endless.ended_ns.reset();
    RunRow open = SampleRun("open");
    open.artifacts = {{"x", 1000, ""}};
    RunRow bare = EndedRun("bare", 150, 0);
    bare.artifacts.clear();
    for (const RunRow& run : {EndedRun("z_oldest", 100, 10), bare, EndedRun("y_middle", 200, 20),
                              EndedRun("a_newest", 300, 30), pinned, endless, open}) {
      KPROF_CHECK(InsertRun(db_, run).ok());
    }
  }

  TemporaryFolder folder_;
  Db db_ = *Db::Open(folder_ / "catalog.db", {.mode = Db::Mode::kReadWrite});
};

TEST_F(RetentionTest, ChoosesByAgeThenBySizeOldestFirstAndNeverOpenOrPinned) {
  struct Case {
    const char* name;
    RetentionPolicy policy;
    int64_t now_ns;
    int64_t limit;
    std::vector<std::string> expected;
  };
  constexpr int64_t kKept = 3000;  // artifacts of those that are never chosen
  const Case cases[] = {
      {"no policy", {}, 1'000'000, 100, {}},
      {"none too old", {.max_age_ns = 1000}, 500, 100, {}},
      {"exactly as old as allowed", {.max_age_ns = 100}, 200, 100, {}},
      {"one too old", {.max_age_ns = 100}, 201, 100, {"z_oldest"}},
      {"all too old", {.max_age_ns = 1}, 1000, 100, {"z_oldest", "bare", "y_middle", "a_newest"}},
      {"all too old, but a limit", {.max_age_ns = 1}, 1000, 2, {"z_oldest", "bare"}},
      {"small enough", {.max_artifact_bytes = kKept + 60}, 1000, 100, {}},
      {"one byte too much", {.max_artifact_bytes = kKept + 59}, 1000, 100, {"z_oldest"}},
      {"the bare one would not help", {.max_artifact_bytes = kKept + 31}, 1000, 100, {"z_oldest", "y_middle"}},
      {"more than can be freed", {.max_artifact_bytes = 1}, 1000, 100, {"z_oldest", "y_middle", "a_newest"}},
      {"age, then size",
       {.max_age_ns = 800, .max_artifact_bytes = kKept + 30},
       951,
       100,
       {"z_oldest", "bare", "y_middle"}},
      {"age alone suffices", {.max_age_ns = 800, .max_artifact_bytes = kKept + 50}, 901, 100, {"z_oldest"}},
  };
  for (const Case& c : cases) {
    Result<std::vector<std::string>> ids = ChooseExpiredRuns(db_, c.policy, c.now_ns, c.limit);
    ASSERT_TRUE(ids.ok()) << c.name << ids.status().ToString();
    EXPECT_EQ(*ids, c.expected) << c.name;
  }
}

TEST_F(RetentionTest, WhatLastsIsOfOpenAndPinnedRunsAndTheOneAskedFor) {
  EXPECT_EQ(*ReadLastingArtifactBytes(db_, "a_newest"), 3030);
  EXPECT_EQ(*ReadLastingArtifactBytes(db_, "bare"), 3000);
  EXPECT_EQ(*ReadLastingArtifactBytes(db_, "pinned"), 3000);
  ASSERT_TRUE(SetPinned(db_, "y_middle", true).ok());
  EXPECT_EQ(*ReadLastingArtifactBytes(db_, "bare"), 3020);
}

TEST_F(RetentionTest, OldSessionsGoOnceTheirRunsAreGone) {
  SessionRow session;
  session.state = SessionState::kClosed;
  auto add = [&](const std::string& id, int64_t closed_ns) {
    session.id = id;
    session.closed_ns = closed_ns;
    ASSERT_TRUE(InsertSession(db_, session).ok());
  };
  add("old", 10);
  add("old_with_run", 10);
  add("young", 90);
  session.state = SessionState::kOpen;
  add("open", 10);
  RunRow run = SampleRun("r");
  run.session_id = "old_with_run";
  run.round = 1;
  ASSERT_TRUE(InsertRun(db_, run).ok());
  auto left = [&] {
    std::string ids;
    for (const SessionRow& row : *ListSessions(db_, {})) ids += row.id + " ";
    return ids;
  };
  ASSERT_TRUE(DeleteExpiredSessions(db_, {}, 100, 10).ok());
  EXPECT_EQ(left(), "young open old_with_run old ");
  ASSERT_TRUE(DeleteExpiredSessions(db_, {.max_age_ns = 50}, 100, 10).ok());
  EXPECT_EQ(left(), "young open old_with_run ");
  ASSERT_TRUE(DeleteRun(db_, "r").ok());
  ASSERT_TRUE(DeleteExpiredSessions(db_, {.max_age_ns = 50}, 100, 10).ok());
  EXPECT_EQ(left(), "young open ");
}

}  // namespace
}  // namespace kprof
