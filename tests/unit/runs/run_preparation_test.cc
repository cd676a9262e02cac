// Runs with a step before their lease.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::HasSubstr;

class RunPreparationTest : public RunsFixture, public testing::Test {
 protected:
  void SetUp() override {
    const Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  static RunRequest Preparing(const std::string& device = "0") {
    RunRequest request = On(device);
    request.prepare = "make";
    return request;
  }
  static CommandEnded FailedStep(const char* step, int code) {
    CommandEnded ended;
    ended.failed_step = step;
    ended.step_exit_code = code;
    return ended;
  }
};

TEST_F(RunPreparationTest, RunsItsStepWithoutADevice) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_EQ(runs_->RunOn("0"), "");
  EXPECT_EQ(runs_->FindOpenRow(id)->state, RunState::kQueued);
  EXPECT_EQ(Stored(id).state, RunState::kQueued);
  for (const std::string& variable : launcher_->last().request.environment) {
    EXPECT_FALSE(variable.starts_with("CUDA_VISIBLE_DEVICES=")) << variable;
  }
  // Others go on meanwhile.
  const std::string other = SubmitOk(On("0"));
  EXPECT_TRUE(GoesOn(1));
  EXPECT_EQ(runs_->RunOn("0"), other);
}

TEST_F(RunPreparationTest, GetsItsDevicesAfterItsStep) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  FakeLauncher::Entry& launch = launcher_->last();
  launch.StepsDone();
  ASSERT_TRUE(Until([&] { return !launch.leases.empty(); }));
  EXPECT_EQ(runs_->RunOn("0"), id);
  EXPECT_THAT(launch.leases.at(0), Contains("CUDA_VISIBLE_DEVICES=GPU-a"));
  launch.Prepared();
  ASSERT_TRUE(Until([&] { return launch.go_calls > 0; }));
  launch.Started();
  launch.Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  const RunRow row = Stored(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_TRUE(row.started_ns.has_value());
  EXPECT_EQ(runs_->running(), 0U);
  EXPECT_EQ(runs_->queued(), 0U);
}

TEST_F(RunPreparationTest, WaitsForItsDevicesReady) {
  const std::string other = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  FakeLauncher::Entry& launch = launcher_->at(1);
  launch.StepsDone();
  loop_->RunUntilIdle();
  EXPECT_TRUE(launch.leases.empty());
  EXPECT_EQ(runs_->FindOpen(id)->outlook.position, 1);
  launcher_->at(0).Ended(ExitCode(0));
  EXPECT_TRUE(Until([&] { return !launch.leases.empty(); }));
}

TEST_F(RunPreparationTest, FailsWithItsStepAndLeasesNothing) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  CommandEnded failed = FailedStep(kPrepareStep, 2);
  failed.ended_unix_ns = clock_.unix_ns();
  launcher_->last().Ended(failed);
  ASSERT_TRUE(HasEnded(id));
  const RunRow row = Stored(id);
  EXPECT_GE(row.ended_ns, row.queued_ns);
  EXPECT_EQ(row.state, RunState::kFailed);
  EXPECT_EQ(row.error->code, "command_failed");
  EXPECT_THAT(row.error->message, HasSubstr("--prepare ended with exit code 2"));
  EXPECT_FALSE(row.started_ns.has_value());
  EXPECT_TRUE(row.metrics.empty());
  EXPECT_EQ(runs_->queued(), 0U);
  EXPECT_EQ(runs_->running(), 0U);
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  Result<std::vector<AuditEntry>> entries = ReadAudit(**reader, {});
  ASSERT_TRUE(entries.ok());
  for (const AuditEntry& entry : *entries) EXPECT_FALSE(entry.action.starts_with("lease")) << entry.action;
}

TEST_F(RunPreparationTest, CanBeCancelledBeforeAndDuringItsStep) {
  for (const bool is_under_way : {false, true}) {
    const size_t before = launcher_->count();
    const std::string id = SubmitOk(Preparing());
    EXPECT_TRUE(!is_under_way || Until([&] { return launcher_->count() == before + 1; }));
    Cancel(id);
    ASSERT_TRUE(HasEnded(id));
    EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  }
  EXPECT_EQ(runs_->running(), 0U);
  EXPECT_EQ(runs_->queued(), 0U);
}

// It ends as a command does: with its grace, and not before its processes are gone.
TEST_F(RunPreparationTest, EndsItsStepInGoodOrder) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().StepBegins();
  Cancel(id, 700);
  loop_->RunUntilIdle();
  EXPECT_EQ(launcher_->last().stop_graces_ms, std::vector<int64_t>{700});
  EXPECT_FALSE(launcher_->last().destroyed);
  EXPECT_EQ(Stored(id).state, RunState::kQueued);
  CommandEnded ended = FailedStep(kPrepareStep, 143);
  ended.stopped = true;
  ended.ended_unix_ns = clock_.unix_ns();
  launcher_->last().Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_EQ(runs_->queued(), 0U);
}

TEST_F(RunPreparationTest, IsCancelledWhereItsStepEndedBeforeItHeardOfIt) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().StepBegins();
  Cancel(id, 700);
  launcher_->last().StepsDone();
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_TRUE(launcher_->last().leases.empty());
}

TEST_F(RunPreparationTest, LastsNoLongerThanTheNodeLetsARun) {
  options_.longest_run_ms = 60'000;
  Restart();
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().StepBegins();
  Pass(59'000);
  EXPECT_TRUE(launcher_->last().stop_graces_ms.empty());
  Pass(1'500);
  ASSERT_EQ(launcher_->last().stop_graces_ms.size(), 1U);
  CommandEnded ended = FailedStep(kPrepareStep, 143);
  ended.stopped = true;
  launcher_->last().Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).error->code, "timed_out");
  EXPECT_THAT(Stored(id).error->message, HasSubstr("--prepare"));
}

TEST_F(RunPreparationTest, HoldsAPlaceUntilItHasItsDevices) {
  options_.prepared_at_once = 1;
  Restart();
  const std::string other = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  SubmitOk(Preparing("0"));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  launcher_->last().StepsDone();
  const std::string next = SubmitOk(Preparing("1"));
  loop_->RunUntilIdle();
  EXPECT_EQ(launcher_->count(), 2U);
  launcher_->at(0).Ended(ExitCode(0));
  EXPECT_TRUE(Until([&] { return launcher_->count() == 3; }));
  EXPECT_EQ(launcher_->last().marker, next);
}

TEST_F(RunPreparationTest, IsCancelledForGoodWhenThatIsAnswered) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().StepBegins();
  bool answered = false;
  Cancel(id, 0, [&](const Result<RunRow>& row) { answered = row.ok() && row->state == RunState::kCancelled; });
  loop_->RunUntilIdle();
  EXPECT_FALSE(answered);
  CommandEnded ended = FailedStep(kPrepareStep, 143);
  ended.stopped = true;
  launcher_->last().Ended(ended);
  ASSERT_TRUE(Until([&] { return answered; }));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
}

TEST_F(RunPreparationTest, AnswersAllWhoCancelIt) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().StepBegins();
  int answers = 0;
  for (int i = 0; i < 2; ++i) {
    Cancel(id, 0, [&](const Result<RunRow>& row) { answers += row.ok() ? 1 : 0; });
  }
  launcher_->last().StepsDone();
  EXPECT_TRUE(Until([&] { return answers == 2; }));
}

TEST_F(RunPreparationTest, ThatWaitForADeviceHoldNobodyUp) {
  options_.preparations_at_once = 1;
  Restart();
  const std::string other = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  SubmitOk(Preparing("0"));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  launcher_->last().StepsDone();
  SubmitOk(Preparing("1"));
  EXPECT_TRUE(Until([&] { return launcher_->count() == 3; }));
}

TEST_F(RunPreparationTest, CanBeCancelledWhileItWaitsForItsDevices) {
  const std::string blocker = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  launcher_->last().StepsDone();
  Cancel(id);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(blocker));
  EXPECT_EQ(runs_->RunOn("0"), "");
  EXPECT_EQ(runs_->running(), 0U);
  EXPECT_EQ(runs_->queued(), 0U);
}

TEST_F(RunPreparationTest, IsBoundByItsQueueTimeout) {
  RunRequest request = Preparing();
  request.queue_timeout_ms = 1000;
  const std::string id = SubmitOk(request);
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  Pass(1500);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).error->code, "queue_timeout");
}

TEST_F(RunPreparationTest, IsDoneAnewByTheNextDaemon) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  Restart();
  EXPECT_EQ(runs_->FindOpenRow(id)->state, RunState::kQueued);
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->last().StepsDone();
  EXPECT_TRUE(Until([&] { return !launcher_->last().leases.empty(); }));
}

TEST_F(RunPreparationTest, StaysQueuedWhenTheDaemonStops) {
  const std::string id = SubmitOk(Preparing());
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  bool stopped = false;
  runs_->StopAll(0, [&] { stopped = true; });
  ASSERT_TRUE(Until([&] { return stopped; }));
  EXPECT_TRUE(launcher_->last().destroyed);
  EXPECT_EQ(Stored(id).state, RunState::kQueued);
}

TEST_F(RunPreparationTest, IsDoneByAFewAtATime) {
  options_.preparations_at_once = 2;
  Restart();
  for (const char* device : {"0", "1", "cpu"}) SubmitOk(Preparing(device));
  ASSERT_TRUE(Until([&] { return launcher_->count() == 2; }));
  launcher_->at(0).StepsDone();
  EXPECT_TRUE(Until([&] { return launcher_->count() == 3; }));
}

TEST_F(RunPreparationTest, AFailedCheckIsSaidSo) {
  const std::string id = SubmitOk(On("0"));
  ASSERT_TRUE(GoesOn(0));
  CommandEnded ended = ExitCode(0);
  ended.failed_step = kCheckStep;
  ended.step_exit_code = 1;
  launcher_->last().Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).error->code, "check_failed");
  EXPECT_FALSE(Stored(id).metrics.empty());
}

}  // namespace
}  // namespace kprof
