// Devices on which a run left what nobody could end: who is told, and that nothing comes between.
#include "daemon/runs/command/device_leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "daemon/launch/launch_request.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/runs/command/run_folder.h"
#include "tests/fakes/base/right_to_kill.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DeviceLeftoversTest : public testing::Test, protected RunsFixture {
 protected:
  void SetUp() override {
    system_mode_ = true;
    ASSERT_TRUE(Open().ok());
  }
  // A run whose supervisor says that something lives on: the helper started it, or its client where it is attached.
  std::string LeavesProcessesOn(const std::string& device, bool attached = false) {
    const size_t launch = launcher_->count();
    const std::string id = SubmitOk(On(device, attached));
    EXPECT_TRUE(GoesOn(launch));
    CommandEnded ended = ExitCode(0);
    ended.unkillable_processes = 2;
    launcher_->at(launch).Ended(ended);
    EXPECT_TRUE(HasEnded(id));
    return id;
  }
  std::string RunsOn(const std::string& device) {
    const size_t launch = launcher_->count();
    const std::string id = SubmitOk(On(device));
    EXPECT_TRUE(GoesOn(launch));
    launcher_->at(launch).Ended(ExitCode(0));
    EXPECT_TRUE(HasEnded(id));
    return id;
  }
  std::vector<std::string> TrustOf(const std::string& id) {
    std::vector<std::string> codes;
    for (const TrustReason& reason : Stored(id).trust) codes.push_back(reason.code);
    return codes;
  }
};

TEST_F(DeviceLeftoversTest, AreToldOfOverARestartAndOnce) {
  LeavesProcessesOn("0");
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("1")), IsEmpty());
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
}

TEST_F(DeviceLeftoversTest, AreOverAfterAReboot) {
  LeavesProcessesOn("0");
  boot_id_ = "the-next-boot";
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
  LeavesProcessesOn("0");
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared")) << "that is of this boot";
}

// Who would, by lying, be in the trust of everybody who comes next.
TEST_F(DeviceLeftoversTest, AreNotWhatAClientsSupervisorSays) {
  const std::string said = LeavesProcessesOn("0", /*attached=*/true);
  EXPECT_THAT(TrustOf(said), ElementsAre("processes_unkillable"));
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
}

TEST_F(DeviceLeftoversTest, AreWhatWasSeenOfAClientsSupervisor) {
  SubmitOk(On("0", /*attached=*/true));
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).MayLiveOn(Fail(ErrorCode::kCommandFailed, "supervise", "kprof-launch does not end"));
  launcher_->at(0).Lost(Fail(ErrorCode::kCommandFailed, "supervise", "kprof-launch does not end"));
  const std::string next = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(1));
  launcher_->at(1).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(next));
  EXPECT_THAT(TrustOf(next), ElementsAre("device_shared"));
}

TEST_F(DeviceLeftoversTest, AreThereStillWhenTheRunThatLeftThemIsDeleted) {
  const std::string id = LeavesProcessesOn("0");
  std::optional<Status> deleted;
  runs_->Delete(id, {1000}, [&](const Status& status) { deleted = status; });
  ASSERT_TRUE(Until([&] { return deleted.has_value(); }));
  ASSERT_TRUE(deleted->ok()) << deleted->ToString();
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
}

TEST_F(DeviceLeftoversTest, AreToldToTheNextWhereItCouldNotBeStoredThatOneWasTold) {
  LeavesProcessesOn("0");
  const std::string held = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(1));
  const std::string refused = SubmitOk(On("0"));
  CommandEnded ended = ExitCode(0);
  ended.unkillable_processes = 1;
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  launcher_->at(1).Ended(ended);
  ASSERT_TRUE(Until([&] {
    const std::optional<Runs::View> view = runs_->FindOpen(refused);
    return view && IsTerminal(view->row.state);
  }));
  EXPECT_EQ(launcher_->count(), 2u) << "it never was on the device";
  disk_.plan.Heal();
  ASSERT_TRUE(Until([&] {
    Pass(60'000);
    return !runs_->FindOpen(held) && !runs_->FindOpen(refused);
  }));
  EXPECT_THAT(TrustOf(held), ElementsAre("device_shared", "processes_unkillable"));
  EXPECT_THAT(TrustOf(refused), IsEmpty());
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
}

TEST_F(DeviceLeftoversTest, StayUntilARunWasReallyThere) {
  LeavesProcessesOn("0");
  const std::string cancelled = SubmitOk(On("0"));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  runs_->Stop(cancelled, Fail(ErrorCode::kCancelled, "run", "cancelled"), 0, [](const Result<RunRow>&) {});
  launcher_->at(1).Prepared();
  ASSERT_TRUE(HasEnded(cancelled));
  EXPECT_THAT(TrustOf(cancelled), IsEmpty()) << "it never was on the device";
  launcher_->FailNext(Fail(ErrorCode::kSpawnFailed, "start", "no processes left"));
  const std::string unspawned = SubmitOk(On("0"));
  ASSERT_TRUE(HasEnded(unspawned));
  EXPECT_THAT(TrustOf(unspawned), IsEmpty());
  Restart();
  // No program of that name, which the supervisor finds out when it is told to go.
  const std::string not_found = SubmitOk(On("0"));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->at(0).Prepared();
  ASSERT_TRUE(Until([&] { return launcher_->at(0).go_calls > 0; }));
  launcher_->at(0).Failed(Fail(ErrorCode::kSpawnFailed, "start", "there is no such program"));
  ASSERT_TRUE(HasEnded(not_found));
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
}

// Of the one that was told nobody knows how far it came.
TEST_F(DeviceLeftoversTest, AreToldAgainWhenKprofdDiesUnderTheOneThatWasTold) {
  LeavesProcessesOn("0");
  const std::string lost = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(1));
  Restart();
  ASSERT_TRUE(Until([&] { return launcher_->remains.size() == 1; }));
  launcher_->remains[0].done(OkStatus());
  ASSERT_TRUE(HasEnded(lost));
  EXPECT_THAT(TrustOf(lost), ElementsAre("device_shared"));
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
}

// The end of one that was told is stored late, when the next one there has left something itself.
TEST_F(DeviceLeftoversTest, AreNotForgottenWithThoseOfAnEarlierRun) {
  LeavesProcessesOn("0");
  const std::string late = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(1));
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  launcher_->at(1).Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] {
    const std::optional<Runs::View> view = runs_->FindOpen(late);
    return view && IsTerminal(view->row.state);
  }));
  disk_.plan.Heal();
  LeavesProcessesOn("0");
  ASSERT_TRUE(Until([&] {
    Pass(60'000);
    return !runs_->FindOpen(late);
  }));
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
}

class OwnDaemonsLeftoversTest : public DeviceLeftoversTest {
 protected:
  void SetUp() override { ASSERT_TRUE(Open().ok()); }
};

// What a kprofd of one's own was killed under, and the next one cannot end: it has become somebody else's.
TEST_F(OwnDaemonsLeftoversTest, AreWhatAStartCouldNotEnd) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to start a process that is somebody else's";
  const std::string lost = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  const std::string of_run = std::string(kRunIdVariable) + "=" + lost;
  const std::string of_state = StateMarker(layout());
  const pid_t escaped = ::fork();
  if (escaped == 0) {
    const char* const argv[] = {"sleep", "300", nullptr};
    const char* const environment[] = {of_run.c_str(), of_state.c_str(), nullptr};
    if (::setresuid(1, 1, 1) == 0) ::execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(environment));
    ::_exit(127);
  }
  ASSERT_GT(escaped, 0);
  auto carries_it = [&] { return !FindMarkedProcesses([&](const std::string& id) { return id == lost; }).empty(); };
  ASSERT_TRUE(Until(carries_it));
  ASSERT_TRUE(SetRightToKill(false));
  Restart();
  ASSERT_TRUE(SetRightToKill(true));
  ASSERT_TRUE(HasEnded(lost));
  EXPECT_EQ(Stored(lost).error->code, "lost_daemon");
  EXPECT_THAT(TrustOf(lost), ElementsAre("processes_unkillable"));
  ::kill(escaped, SIGKILL);
  ::waitpid(escaped, nullptr, 0);
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
}

// The end of the run that left them is stored late, when the next one has been told already.
TEST_F(DeviceLeftoversTest, AreNotToldAgainWhereTheyAreStoredAfterTheTelling) {
  const std::string late = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  CommandEnded ended = ExitCode(0);
  ended.unkillable_processes = 1;
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(Until([&] {
    const std::optional<Runs::View> view = runs_->FindOpen(late);
    return view && IsTerminal(view->row.state);
  }));
  disk_.plan.Heal();
  EXPECT_THAT(TrustOf(RunsOn("0")), ElementsAre("device_shared"));
  ASSERT_TRUE(Until([&] {
    Pass(60'000);
    return !runs_->FindOpen(late);
  }));
  Restart();
  EXPECT_THAT(TrustOf(RunsOn("0")), IsEmpty());
}

}  // namespace
}  // namespace kprof
