// Runs that were in flight when kprofd was killed, where others had started them: their clients, or the root helper.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "daemon/runs/audit/audit_log.h"
#include "daemon/runs/command/run_end.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LostRunsTest : public testing::Test, protected RunsFixture {
 protected:
  void SetUp() override {
    system_mode_ = true;
    ASSERT_TRUE(Open().ok());
  }
  // A run that executes its command on device 0.
  std::string Running(bool attached = false) {
    const size_t launch = launcher_->count();
    const std::string id = SubmitOk(On("0", attached));
    EXPECT_TRUE(GoesOn(launch));
    return id;
  }
  bool IsLaunched(const std::string& id) {
    for (size_t i = 0; i < launcher_->count(); ++i) {
      if (launcher_->at(i).marker == id) return true;
    }
    return false;
  }
  // What is under way is done, and nothing more comes of it.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      loop_->RunUntilIdle();
      (void)catalog_->writer().SubmitAndWait([](Db&) { return OkStatus(); });
    }
    loop_->RunUntilIdle();
  }
  std::vector<std::string> TrustOf(const RunRow& row) {
    std::vector<std::string> codes;
    for (const TrustReason& reason : row.trust) codes.push_back(reason.code);
    return codes;
  }
  // Oldest first, of one run or session.
  std::vector<std::string> Audit(const std::string& id) {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    std::vector<std::string> actions;
    for (const AuditEntry& entry : *ReadAudit(**reader, {.limit = 1000})) {
      if (entry.run_id == id || entry.session_id == id) actions.push_back(entry.action);
    }
    std::reverse(actions.begin(), actions.end());
    return actions;
  }
  std::string OpenSession(bool attached) {
    SessionRequest request;
    request.uid = 1000;
    request.device = "0";
    request.attached = attached;
    std::optional<Result<SessionRow>> answer;
    runs_->sessions().Open(request, [&](const Result<SessionRow>& row) { answer = row; });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    const std::string id = (*answer)->id;
    EXPECT_TRUE(Until([&] { return runs_->sessions().FindOpenRow(id)->state == SessionState::kOpen; }));
    return id;
  }
  std::string RunningIn(const std::string& session) {
    RunRequest request = On("0");
    request.session_id = session;
    const std::string id = SubmitOk(request);
    EXPECT_TRUE(GoesOn(launcher_->count() == 0 ? 0 : launcher_->count() - 1));
    return id;
  }
};

TEST_F(LostRunsTest, KeepTheirDevicesUntilNobodyIsLeft) {
  for (const bool attached : {false, true}) {
    const std::string lost = Running(attached);
    const std::string next = SubmitOk(On("0"));
    Restart();
    Settle();
    ASSERT_EQ(launcher_->remains.size(), 1);
    EXPECT_EQ(launcher_->remains[0].marker, lost);
    EXPECT_EQ(launcher_->remains[0].as.starter, attached ? RunStarter::kClient : RunStarter::kHelper);
    EXPECT_FALSE(IsLaunched(next)) << "beside what is left of the lost one";
    EXPECT_EQ(runs_->RunOn("0"), lost);
    EXPECT_THAT(runs_->FindOpen(lost)->row.error->message, HasSubstr("kprofd died under it"));
    launcher_->remains[0].done(OkStatus());
    ASSERT_TRUE(HasEnded(lost));
    EXPECT_EQ(Stored(lost).error->code, "lost_daemon");
    EXPECT_THAT(Stored(lost).trust, IsEmpty());
    ASSERT_TRUE(GoesOn(0));
    EXPECT_TRUE(IsLaunched(next));
    launcher_->at(0).Ended(ExitCode(0));
    ASSERT_TRUE(HasEnded(next));
    EXPECT_THAT(Stored(next).trust, IsEmpty());
  }
}

TEST_F(LostRunsTest, DelayNobodyOnOtherDevices) {
  Running();
  Restart();
  const std::string other = SubmitOk(On("1"));
  EXPECT_TRUE(GoesOn(0));
  EXPECT_TRUE(IsLaunched(other));
}

TEST_F(LostRunsTest, AreFoundAgainByAThirdDaemon) {
  const std::string lost = Running();
  const std::string next = SubmitOk(On("0"));
  Restart();
  Settle();
  Restart();
  Settle();
  ASSERT_EQ(launcher_->remains.size(), 1);
  EXPECT_FALSE(IsLaunched(next));
  launcher_->remains[0].done(OkStatus());
  ASSERT_TRUE(HasEnded(lost));
  EXPECT_THAT(Audit(lost), ElementsAre("submit", "lease_granted", "lease_ended"));
}

TEST_F(LostRunsTest, ThatCannotBeEndedSaySoAndTheNextOnTheDeviceIsTold) {
  const std::string lost = Running();
  const std::string next = SubmitOk(On("0"));
  const std::string third = SubmitOk(On("0"));
  Restart();
  Settle();
  launcher_->remains[0].done(Fail(ErrorCode::kTimedOut, "end it", "2 of its processes do not die"));
  ASSERT_TRUE(HasEnded(lost));
  EXPECT_THAT(TrustOf(Stored(lost)), ElementsAre("processes_unkillable"));
  EXPECT_THAT(Stored(lost).trust[0].message, HasSubstr("2 of its processes do not die"));
  for (size_t launch : {0, 1}) {
    ASSERT_TRUE(GoesOn(launch));
    launcher_->at(launch).Ended(ExitCode(0));
  }
  ASSERT_TRUE(HasEnded(third));
  ASSERT_THAT(TrustOf(Stored(next)), ElementsAre("device_shared"));
  EXPECT_THAT(Stored(next).trust[0].message, Not(HasSubstr(lost))) << "whose run it was is not for everybody";
  EXPECT_THAT(TrustOf(Stored(third)), IsEmpty()) << "told once";
}

// Who reads its logs is told before they change under them.
TEST_F(LostRunsTest, AreCollectingBeforeTheirLogsAreTouched) {
  const std::string lost = Running();
  Restart();
  Settle();
  const std::string progress = layout().ArtifactPath(lost, "output.progress");
  std::vector<RunState> told;
  const WatchId watch = runs_->Watch(lost, [&](const Runs::View& view) {
    told.push_back(view.row.state);
    if (view.row.state != RunState::kCollecting) return;
    EXPECT_TRUE(std::filesystem::exists(progress));
    EXPECT_EQ(Stored(lost).state, RunState::kCollecting);
    EXPECT_EQ(view.row.error->code, "lost_daemon");
  });
  launcher_->remains[0].done(OkStatus());
  ASSERT_TRUE(HasEnded(lost));
  runs_->Unwatch(lost, watch);
  EXPECT_THAT(told, ElementsAre(RunState::kCollecting, RunState::kFailed));
  EXPECT_FALSE(std::filesystem::exists(progress));
}

// Killed before the end was stored: the third daemon asks anew whether something lives on, and its answer counts.
TEST_F(LostRunsTest, ThatWereCollectingAreEndedByAThirdDaemon) {
  for (const bool lives_on : {false, true}) {
    const std::string lost = Running();
    Restart();
    Settle();
    const WatchId watch = runs_->Watch(lost, [&](const Runs::View& view) {
      if (view.row.state == RunState::kCollecting) disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
    });
    launcher_->remains[0].done(Fail(ErrorCode::kTimedOut, "end it", "2 of its processes do not die"));
    ASSERT_TRUE(Until([&] { return IsTerminal(runs_->FindOpen(lost)->row.state); }));
    runs_->Unwatch(lost, watch);
    Close();
    disk_.plan.Heal();
    ASSERT_TRUE(Open().ok());
    Settle();
    EXPECT_EQ(Stored(lost).state, RunState::kCollecting);
    launcher_->remains[0].done(lives_on ? Fail(ErrorCode::kTimedOut, "end it", "1 of them does not die") : OkStatus());
    ASSERT_TRUE(HasEnded(lost));
    EXPECT_EQ(Stored(lost).error->code, "lost_daemon");
    if (lives_on) {
      EXPECT_THAT(TrustOf(Stored(lost)), ElementsAre("processes_unkillable"));
    } else {
      EXPECT_THAT(TrustOf(Stored(lost)), IsEmpty());
    }
  }
}

TEST_F(LostRunsTest, AreNotCancelled) {
  const std::string lost = Running(true);
  Restart();
  Settle();
  std::optional<Result<RunRow>> answer;
  runs_->Stop(lost, Fail(ErrorCode::kCancelled, "run", "cancelled"), 0,
              [&](const Result<RunRow>& row) { answer = row; });
  ASSERT_TRUE(Until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status().code(), ErrorCode::kUsage);
  Pass(60'000);  // nor given up, as nobody holds it
  EXPECT_TRUE(runs_->FindOpen(lost));
}

TEST_F(LostRunsTest, DoNotKeepTheDaemonFromStopping) {
  Running();
  Restart();
  Settle();
  bool stopped = false;
  runs_->StopAll(0, [&] { stopped = true; });
  EXPECT_TRUE(Until([&] { return stopped; }));
}

TEST_F(LostRunsTest, OfASessionThatGoesOnKeepItsDevicesFromItsNextRound) {
  const std::string session = OpenSession(false);
  const std::string lost = RunningIn(session);
  RunRequest request = On("0");
  request.session_id = session;
  const std::string next = SubmitOk(request);
  Restart();
  Settle();
  EXPECT_FALSE(IsLaunched(next));
  EXPECT_EQ(runs_->RunOn("0"), lost);
  launcher_->remains.at(0).done(OkStatus());
  ASSERT_TRUE(HasEnded(lost));
  ASSERT_TRUE(GoesOn(0));
  EXPECT_TRUE(IsLaunched(next));
  EXPECT_THAT(Audit(lost), ElementsAre("submit")) << "the lease is the session's";
}

TEST_F(LostRunsTest, OfASessionThatIsLostKeepItsDevicesFromOthers) {
  const std::string session = OpenSession(true);
  const std::string lost = RunningIn(session);
  const std::string next = SubmitOk(On("0"));
  Restart();
  Settle();
  EXPECT_FALSE(IsLaunched(next));
  EXPECT_TRUE(runs_->sessions().FindOpenRow(session));
  launcher_->remains.at(0).done(OkStatus());
  ASSERT_TRUE(GoesOn(0));
  EXPECT_TRUE(IsLaunched(next));
  ASSERT_TRUE(Until([&] { return runs_->sessions().FindOpenRow(session) == nullptr; }));
  EXPECT_THAT(Audit(session), ElementsAre("session_open", "lease_granted", "submit", "session_close", "lease_ended"));
}

TEST_F(LostRunsTest, LiveOnWhereTheHelperCouldNotEndThemUnderTheSameDaemonEither) {
  const std::string id = Running();
  const std::string next = SubmitOk(On("0"));
  launcher_->at(0).MayLiveOn(Fail(ErrorCode::kNoDaemon, "end it", "nobody answers"));
  launcher_->at(0).Lost(Fail(ErrorCode::kCommandFailed, "supervise", "kprof-launch died"));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_THAT(TrustOf(Stored(id)), ElementsAre("processes_unkillable"));
  ASSERT_TRUE(GoesOn(1));
  launcher_->at(1).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(next));
  EXPECT_THAT(TrustOf(Stored(next)), ElementsAre("device_shared"));
}

}  // namespace
}  // namespace kprof
