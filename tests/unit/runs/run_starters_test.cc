// Who starts a run's command: the daemon in user mode; in system mode the client that follows it, or the root helper,
// which must have seen the caller ask.
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/launch/launch_request.h"
#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/runs.h"
#include "storage/catalog/run_list.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

class RunStartersTest : public testing::Test, protected RunsFixture {
 protected:
  void SetUp() override {
    system_mode_ = true;
    Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  static RunRequest Attached() {
    RunRequest request = Command();
    request.attached = true;
    return request;
  }
  size_t SpooledFiles() { return disk_.files.List(layout().SpoolFolder())->size(); }
};

TEST_F(RunStartersTest, LetTheClientStartWhatItFollows) {
  const std::string id = SubmitOk(Attached());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().as, (LaunchAs{RunStarter::kClient, 1000}));
  EXPECT_EQ(Stored(id).starter, RunStarter::kClient);
  EXPECT_TRUE(grants_->grants.empty());
}

TEST_F(RunStartersTest, LetTheHelperStartWhatNobodyWaitsFor) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().as, (LaunchAs{RunStarter::kHelper, 1000}));
  EXPECT_EQ(Stored(id).starter, RunStarter::kHelper);
  EXPECT_EQ(grants_->grants[id].uid, 1000);
}

TEST_F(RunStartersTest, StartNothingOfWhoLostTheRightWhileItWasRegistered) {
  Close();
  std::vector<uint32_t> groups;
  options_.why_revoked = [&](const Actor& who, const std::vector<uint32_t>& of) {
    EXPECT_EQ(who.uid, 1000);
    groups = of;
    return "uid 1000 no longer has a role on this node";
  };
  ASSERT_TRUE(Open().ok());
  RunRequest request = Command();
  request.groups = {100, 1000};
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).error->code, "not_permitted");
  EXPECT_EQ(launcher_->count(), 0);
  EXPECT_EQ(groups, (std::vector<uint32_t>{100, 1000}));
  EXPECT_EQ(grants_->grants.count(id), 0) << "nor may the helper";
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  EXPECT_TRUE(std::ranges::any_of(*ReadAudit(**reader, {}), [&](const AuditEntry& entry) {
    return entry.run_id == id && entry.action == audit::kCancel && entry.by.caller == kDaemonCaller;
  }));
}

TEST_F(RunStartersTest, LetTheHelperStartWhatAClientOnAnotherNodeFollows) {
  RunRequest request = Attached();
  request.is_remote = true;
  request.place = CallerPlace::kUnknown;
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().as, (LaunchAs{RunStarter::kHelper, 1000}));
  EXPECT_EQ(Stored(id).starter, RunStarter::kHelper);
  EXPECT_TRUE(Stored(id).attached);
  EXPECT_EQ(grants_->grants.count(id), 1);
}

TEST_F(RunStartersTest, GiveTheLogsFilesToNobodyElse) {
  SubmitOk(Attached());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().files.progress_fd, -1);
  SubmitOk();
  launcher_->last().Failed(Fail(ErrorCode::kClientGone, "start run", "its client did not come"));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  EXPECT_EQ(launcher_->last().files.progress_fd, -1);
}

TEST_F(RunStartersTest, BelieveNothingImpossible) {
  const std::string id = SubmitOk(Attached());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().Prepared();
  ASSERT_TRUE(Until([&] { return launcher_->last().go_calls == 1; }));
  launcher_->last().Started();
  CommandEnded lie = ExitCode(0);
  lie.wall_ns = INT64_MAX;
  lie.output_error = 0;
  launcher_->last().Ended(lie);
  ASSERT_TRUE(HasEnded(id));
  for (const MetricRow& metric : Stored(id).metrics) EXPECT_LT(metric.value, 1e15) << metric.name;
}

TEST_F(RunStartersTest, StartWhatWasGranted) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(LaunchDigest(launcher_->last().request), grants_->grants[id].digest);
}

TEST_F(RunStartersTest, QueueNothingThatCannotBeStarted) {
  grants_->answer = Fail(ErrorCode::kNotPermitted, "let it start", "uid 1000 is not connected", "connect");
  Result<RunRow> row = Submit(Command());
  EXPECT_EQ(row.status().code(), ErrorCode::kNotPermitted);
  EXPECT_EQ(row.status().remedy(), "connect");
  EXPECT_EQ(SpooledFiles(), 0);
  EXPECT_EQ(launcher_->count(), 0);
}

// With the grants' answer that an honest kprofd would get for another connection of the same user.
TEST_F(RunStartersTest, StartNothingOnThisMachineForWhoIsNotOnIt) {
  for (const CallerPlace place : {CallerPlace::kElsewhere, CallerPlace::kGone, CallerPlace::kUnknown}) {
    RunRequest request = Command();
    request.place = place;
    const Status refused = Submit(request).status();
    EXPECT_EQ(refused.code(), place == CallerPlace::kUnknown ? ErrorCode::kSpawnFailed : ErrorCode::kNotPermitted);
    EXPECT_NE(refused.why().find("container"), std::string::npos) << refused.ToString();
    EXPECT_FALSE(refused.remedy().empty());
  }
  EXPECT_EQ(SpooledFiles(), 0);
  EXPECT_TRUE(grants_->grants.empty());
  EXPECT_EQ(launcher_->count(), 0);
  EXPECT_EQ(*ReadLastRunId(**catalog_->readers().Borrow()), "");
}

TEST_F(RunStartersTest, LetClientsStartWhatTheyFollowWhereverTheyAre) {
  RunRequest request = Attached();
  request.place = CallerPlace::kElsewhere;
  SubmitOk(request);
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().as, (LaunchAs{RunStarter::kClient, 1000}));
}

// Its owner asks again whether it came through, over a connection of which nothing is known.
TEST_F(RunStartersTest, FindARunByItsKeyFromAnywhere) {
  RunRequest request = Command();
  request.idempotency_key = "once";
  const std::string id = SubmitOk(request);
  request.place = CallerPlace::kUnknown;
  EXPECT_EQ(SubmitOk(request), id);
}

TEST_F(RunStartersTest, ForgetARunThatLeavesTheQueue) {
  SubmitOk();
  const std::string second = SubmitOk();
  EXPECT_EQ(grants_->grants.size(), 2);
  runs_->Stop(second, Fail(ErrorCode::kCancelled, "run", "its owner cancelled it"), 0, [](const Result<RunRow>&) {});
  ASSERT_TRUE(HasEnded(second));
  EXPECT_EQ(grants_->grants.count(second), 0);
}

TEST_F(RunStartersTest, KeepTheirGrantsOverARestart) {
  SubmitOk();
  const std::string second = SubmitOk();
  Close();
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(Until([&] { return launcher_->remains.size() == 1; }));
  launcher_->remains[0].done(OkStatus());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().marker, second);
  EXPECT_EQ(launcher_->last().as.starter, RunStarter::kHelper);
}

TEST_F(RunStartersTest, SayThatARunSharedTheHelpersCgroup) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().SharesCgroup();
  ASSERT_TRUE(GoesOn(0));
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  const RunRow row = Stored(id);
  ASSERT_EQ(row.trust.size(), 1);
  EXPECT_EQ(row.trust[0].code, "launched_in_daemon_cgroup");
}

const Status kAway = Fail(ErrorCode::kNoDaemon, "start run", "kprofd-helper has not answered within 10 s");

TEST_F(RunStartersTest, KeepARunPreparingUntilTheHelperHasStartedIt) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().HeldUp(kAway);
  EXPECT_EQ(Stored(id).state, RunState::kPreparing);
  EXPECT_FALSE(Stored(id).started_ns);
  launcher_->last().Prepared();
  ASSERT_TRUE(Until([&] { return launcher_->last().go_calls == 1; }));
  EXPECT_EQ(Stored(id).state, RunState::kRunning);
  launcher_->last().Started();
  launcher_->last().Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kDone);
}

TEST_F(RunStartersTest, EndAtItsQueueTimeoutARunThatWaitsForTheHelper) {
  RunRequest request = Command();
  request.queue_timeout_ms = 60'000;
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  Pass(30'000);
  launcher_->last().HeldUp(kAway);
  Pass(29'000);
  EXPECT_EQ(Stored(id).state, RunState::kPreparing);
  Pass(1'000);
  ASSERT_TRUE(HasEnded(id));
  ASSERT_TRUE(Stored(id).error);
  EXPECT_EQ(Stored(id).error->code, "queue_timeout");
  EXPECT_TRUE(launcher_->last().destroyed);
}

TEST_F(RunStartersTest, CancelARunThatWaitsForTheHelper) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().HeldUp(kAway);
  runs_->Stop(id, Fail(ErrorCode::kCancelled, "run", "its owner cancelled it"), 0, [](const Result<RunRow>&) {});
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_TRUE(launcher_->last().destroyed);
}

TEST_F(RunStartersTest, EndARunWhoseClientDoesNotComeAsCancelled) {
  const std::string id = SubmitOk(Attached());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().Failed(Fail(ErrorCode::kClientGone, "start run", "its client did not come"));
  ASSERT_TRUE(HasEnded(id));
  const RunRow row = Stored(id);
  EXPECT_EQ(row.state, RunState::kCancelled);
  EXPECT_EQ(row.error->code, "client_gone");
}

class UserModeStartersTest : public testing::Test, protected RunsFixture {};

TEST_F(UserModeStartersTest, LetTheDaemonStartAll) {
  ASSERT_TRUE(Open().ok());
  const std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(launcher_->last().as.starter, RunStarter::kDaemon);
  EXPECT_EQ(Stored(id).starter, RunStarter::kDaemon);
  EXPECT_TRUE(grants_->grants.empty());
}

}  // namespace
}  // namespace kprof
