#include "daemon/runs/runs.h"
#include "daemon/launch/output_log.h"
#include "daemon/runs/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <optional>

#include "daemon/runs/command/run_folder.h"
#include "tests/programs/flood_pattern.h"
#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunsTest : public testing::Test, protected RunsFixture {
 protected:
  void SetUp() override {
    Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
  }
  Result<RunRow> Stop(const std::string& id, const Status& reason, int64_t grace_ms) {
    std::optional<Result<RunRow>> answer;
    runs_->Stop(id, reason, grace_ms, [&](Result<RunRow> row) { answer = std::move(row); });
    KPROF_CHECK(Until([&] { return answer.has_value(); }));
    return *answer;
  }
};

Status Cancelled() {
  return Fail(ErrorCode::kCancelled, "run", "its owner cancelled it");
}

TEST_F(RunsTest, TakesARunFromSubmitToDone) {
  std::string id = SubmitOk();
  EXPECT_EQ(Stored(id).tool, "command");
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, id);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  RunRow row = Stored(id);
  EXPECT_EQ(row.state, RunState::kDone);
  EXPECT_EQ(row.exit_code, 0);
  EXPECT_FALSE(row.error);
  EXPECT_EQ(row.metrics.size(), 6u);
  EXPECT_EQ(runs_->queue().HolderOf("cpu"), "");
}

TEST_F(RunsTest, CommitsEachStateBeforeItActsOnIt) {
  std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_GE(Stored(id).state, RunState::kPreparing);  // before anything was launched
  launcher_->at(0).Prepared();
  ASSERT_TRUE(Until([&] { return launcher_->at(0).go_calls == 1; }));
  EXPECT_EQ(Stored(id).state, RunState::kRunning);  // before anything was executed
  launcher_->at(0).Started();
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
}

TEST_F(RunsTest, RunsOneAtATimePerDevice) {
  std::string first = SubmitOk();
  std::string second = SubmitOk();
  RunRequest on_gpu = Command();
  on_gpu.device = "1";
  std::string third = SubmitOk(on_gpu);
  ASSERT_TRUE(GoesOn(0));
  ASSERT_TRUE(GoesOn(1));
  EXPECT_EQ(launcher_->at(1).marker, third);
  EXPECT_EQ(launcher_->count(), 2u);
  EXPECT_EQ(runs_->FindOpen(second)->outlook.position, 1);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(GoesOn(2));
  EXPECT_EQ(launcher_->at(2).marker, second);
}

TEST_F(RunsTest, GivesTheCommandItsWholeEnvironmentAndExactlyItsDevices) {
  RunRequest request = Command();
  request.device = "1";
  request.environment.push_back("CUDA_VISIBLE_DEVICES=0,1");
  std::string id = SubmitOk(request);
  ASSERT_TRUE(GoesOn(0));
  EXPECT_THAT(launcher_->at(0).request.environment, Contains("MY_SECRET=s3cret"));
  EXPECT_THAT(launcher_->at(0).request.environment, Contains("CUDA_VISIBLE_DEVICES=GPU-b"));
  EXPECT_THAT(launcher_->at(0).request.environment, Not(Contains("CUDA_VISIBLE_DEVICES=0,1")));
  for (const auto& [name, value] : Stored(id).environment) EXPECT_NE(name, "MY_SECRET");
  EXPECT_FALSE(std::filesystem::exists(layout().SpoolPath(id)));
}

TEST_F(RunsTest, SaysWhyACommandFailed) {
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(3));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kFailed);
  EXPECT_EQ(Stored(id).error->code, "command_failed");
  EXPECT_THAT(Stored(id).error->message, HasSubstr("exit code 3"));

  std::string killed = SubmitOk();
  ASSERT_TRUE(GoesOn(1));
  CommandEnded ended = ExitCode(0);
  ended.exit_code.reset();
  ended.signal = 11;
  launcher_->at(1).Ended(ended);
  ASSERT_TRUE(HasEnded(killed));
  EXPECT_EQ(Stored(killed).signal, 11);
  EXPECT_THAT(Stored(killed).error->message, HasSubstr("SIGSEGV"));
}

TEST_F(RunsTest, KeepsTheReasonOfALaunchThatFailed) {
  std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->at(0).Failed(Fail(ErrorCode::kToolMissing, "start 'foo'", "no such program", "check the name"));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).error->code, "tool_missing");
  EXPECT_FALSE(Stored(id).started_ns);

  launcher_->FailNext(Fail(ErrorCode::kSpawnFailed, "start", "no processes left"));
  std::string next = SubmitOk();
  ASSERT_TRUE(HasEnded(next));
  EXPECT_EQ(Stored(next).error->code, "spawn_failed");
}

TEST_F(RunsTest, FailsWithLostDaemonWhenTheSupervisorDies) {
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Lost(
      Fail(ErrorCode::kCommandFailed, "supervise", "kprof-launch died: it was killed by signal 9", "look there"));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kFailed);
  EXPECT_EQ(Stored(id).error->code, "lost_daemon");
  EXPECT_EQ(Stored(id).error->message, "run " + id + ": kprof-launch died: it was killed by signal 9");
  EXPECT_EQ(Stored(id).error->remedy, "look there");
}

TEST_F(RunsTest, AStoppedRunWhoseSupervisorIsLostEndsAsItWasStopped) {
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  runs_->Stop(id, Fail(ErrorCode::kCancelled, "run " + id, "its owner cancelled it"), 0, [](const Result<RunRow>&) {});
  launcher_->at(0).Lost(Fail(ErrorCode::kCommandFailed, "supervise", "kprof-launch did not answer", "look there"));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_EQ(Stored(id).error->message, "run " + id + ": its owner cancelled it; kprof-launch did not answer");
}

TEST_F(RunsTest, SaysWhatIsNotKeptOfTheOutput) {
  Close();
  output_ = {.head_bytes = 100, .tail_bytes = 4096};
  ASSERT_TRUE(Open().ok());
  struct Case {
    int64_t stdout_bytes;
    int64_t stderr_bytes;
    const char* dropped;
  };
  const Case cases[] = {
      {4196, 4196, ""},
      {5000, 7, "804 of 5000 bytes of stdout"},
      {0, 4197, "1 of 4197 bytes of stderr"},
      {5000, 10'000, "804 of 5000 bytes of stdout and 5804 of 10000 bytes of stderr"},
  };
  for (size_t launch = 0; launch < std::size(cases); ++launch) {
    const Case& c = cases[launch];
    std::string id = SubmitOk();
    ASSERT_TRUE(GoesOn(launch));
    const OutputFiles& files = launcher_->at(launch).files;
    OutputLogWriter out(files.stdout_fd, files.progress_fd, OutputStream::kStdout, output_);
    OutputLogWriter err(files.stderr_fd, files.progress_fd, OutputStream::kStderr, output_);
    out.Write(std::string(static_cast<size_t>(c.stdout_bytes), 'x'));
    err.Write(std::string(static_cast<size_t>(c.stderr_bytes), 'x'));
    launcher_->at(launch).Ended(ExitCode(0));
    ASSERT_TRUE(HasEnded(id));
    std::vector<TrustReason> expected;
    if (c.dropped[0] != '\0') {
      expected.push_back({"output_dropped", std::string(c.dropped) + " are not kept, between head and tail; this "
                                                                     "concerns the logs alone, nothing that was "
                                                                     "measured"});
    }
    EXPECT_EQ(Stored(id).trust, expected);
  }
}

// What the configuration says of output may change while a run's log lies there as its writer left it.
TEST_F(RunsTest, FinishesLostLogsUnderTheLimitsTheyWereWrittenWith) {
  const auto pattern = [](int64_t begin, int64_t end) {
    std::string bytes;
    for (int64_t at = begin; at < end; ++at) bytes += FloodByte(at);
    return bytes;
  };
  const OutputLimits was{.head_bytes = 100, .tail_bytes = 4096};
  for (const OutputLimits& is : {was, OutputLimits{0, 4096}, OutputLimits{50, 5000}, OutputLimits{4 << 20, 4 << 20}}) {
    SCOPED_TRACE(testing::Message() << is.head_bytes << " " << is.tail_bytes);
    Close();
    output_ = was;
    ASSERT_TRUE(Open().ok());
    const std::string id = SubmitOk();
    ASSERT_TRUE(GoesOn(0));
    {
      const LaunchRequest& request = launcher_->at(0).request;
      const OutputLimits limits{request.output_head_bytes, request.output_tail_bytes};
      auto log = *disk_.files.OpenForWrite(layout().ArtifactPath(id, kStdoutName));
      auto progress = *disk_.files.OpenForWrite(layout().ArtifactPath(id, kProgressName));
      OutputLogWriter writer(log->fd(), progress->fd(), OutputStream::kStdout, limits);
      for (int64_t at = 0; at < 10'000; at += 1000) writer.Write(pattern(at, at + 1000));
    }
    Close();
    output_ = is;
    ASSERT_TRUE(Open().ok());
    const RunRow row = Stored(id);
    EXPECT_EQ(row.error->code, "lost_daemon");
    EXPECT_EQ(row.stdout_bytes, 10'000);
    EXPECT_EQ(row.stdout_dropped_bytes, 10'000 - 100 - 4096);
    const std::string expected = pattern(0, 100) + "\n[kprof: 5804 bytes dropped here]\n" + pattern(5904, 10'000);
    EXPECT_EQ(*ReadWholeFile(disk_.files, layout().ArtifactPath(id, kStdoutName), 1 << 20), expected);
  }
}

TEST_F(RunsTest, CancelsAQueuedRunAtOnce) {
  SubmitOk();
  std::string waiting = SubmitOk();
  ASSERT_TRUE(Stop(waiting, Cancelled(), 100).ok());
  ASSERT_TRUE(HasEnded(waiting));
  EXPECT_EQ(Stored(waiting).state, RunState::kCancelled);
  EXPECT_EQ(Stored(waiting).error->code, "cancelled");
  EXPECT_FALSE(std::filesystem::exists(layout().SpoolPath(waiting)));
  EXPECT_EQ(Stop(waiting, Cancelled(), 100).status().code(), ErrorCode::kUsage);
}

TEST_F(RunsTest, AnswersForAQueuedRunOnlyWhenItsEndIsStored) {
  SubmitOk();
  const std::string waiting = SubmitOk();
  bool answered = false;
  runs_->Stop(waiting, Cancelled(), 100, [&](const Result<RunRow>& row) {
    answered = true;
    EXPECT_TRUE(row.ok());
    EXPECT_EQ(Stored(waiting).state, RunState::kCancelled);
  });
  EXPECT_FALSE(answered);
  EXPECT_TRUE(Until([&] { return answered; }));
}

TEST_F(RunsTest, SaysThatTheEndOfAQueuedRunCannotBeStored) {
  SubmitOk();
  const std::string waiting = SubmitOk();
  disk_.plan.FailAt(1, Fault::kNoSpace, true);
  EXPECT_EQ(Stop(waiting, Cancelled(), 100).status().code(), ErrorCode::kStorageFull);
  EXPECT_EQ(runs_->FindOpen(waiting)->row.state, RunState::kCancelled);
  disk_.plan.Heal();
  Pass(60'000);
  ASSERT_TRUE(HasEnded(waiting));
  EXPECT_EQ(Stored(waiting).state, RunState::kCancelled);
}

TEST_F(RunsTest, StopsARunningCommandWithGraceAndCallsItCancelled) {
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  ASSERT_TRUE(Stop(id, Cancelled(), 1234).ok());
  EXPECT_THAT(launcher_->at(0).stop_graces_ms, ElementsAre(1234));
  CommandEnded ended = ExitCode(0);
  ended.exit_code.reset();
  ended.signal = 15;
  ended.stopped = true;
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_EQ(Stored(id).signal, 15);
}

TEST_F(RunsTest, NeverStartsACommandThatWasCancelledWhilePreparing) {
  std::string id = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  ASSERT_TRUE(Stop(id, Cancelled(), 0).ok());
  launcher_->at(0).Prepared();
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(launcher_->at(0).go_calls, 0);
  EXPECT_TRUE(launcher_->at(0).destroyed);
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(id)));
}

TEST_F(RunsTest, LetsGoOfTheGrantOfARunThatEndsBeforeItsLaunch) {
  system_mode_ = true;
  Restart();
  std::string id;
  runs_->Submit(Command(), [&](const Result<RunRow>& row) {
    id = row->id;
    EXPECT_TRUE(grants_->grants.contains(id));
    // It has its place, and that is on its way to the disk.
    runs_->Stop(id, Cancelled(), 0, [](const Result<RunRow>&) {});
  });
  ASSERT_TRUE(Until([&] { return !id.empty(); }));
  ASSERT_TRUE(HasEnded(id));
  ASSERT_EQ(launcher_->count(), 0u);
  EXPECT_TRUE(grants_->grants.empty());
}

TEST_F(RunsTest, LetsGoOfTheGrantOfARunThatCannotBeLaunched) {
  system_mode_ = true;
  Restart();
  launcher_->FailNext(Fail(ErrorCode::kSpawnFailed, "start", "no descriptor is left"));
  ASSERT_TRUE(HasEnded(SubmitOk()));
  EXPECT_TRUE(grants_->grants.empty());
}

TEST_F(RunsTest, EndsARunAtItsTimeout) {
  RunRequest request = Command();
  request.timeout_ms = 2500;
  std::string id = SubmitOk(request);
  ASSERT_TRUE(GoesOn(0));
  Pass(2499);
  EXPECT_TRUE(launcher_->at(0).stop_graces_ms.empty());
  Pass(1);
  EXPECT_EQ(launcher_->at(0).stop_graces_ms.size(), 1u);
  CommandEnded ended = ExitCode(0);
  ended.stopped = true;
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).error->code, "timed_out");
  EXPECT_THAT(Stored(id).error->message, HasSubstr("2.5"));
}

TEST_F(RunsTest, CountsATimeoutFromGo) {
  RunRequest request = Command();
  request.timeout_ms = 2500;
  SubmitOk(request);
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  launcher_->at(0).Prepared();
  ASSERT_TRUE(Until([&] { return launcher_->at(0).go_calls > 0; }));
  Pass(1500);
  launcher_->at(0).Started();
  Pass(999);
  EXPECT_TRUE(launcher_->at(0).stop_graces_ms.empty());
  Pass(1);
  EXPECT_EQ(launcher_->at(0).stop_graces_ms.size(), 1u);
}

TEST_F(RunsTest, EndsARunThatAskedForNoTimeoutWhenItHasLastedAsLongAsTheNodeLetsIt) {
  runs_->SetLongestRun(60'000);
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(runs_->FindOpenRow(id)->timeout_ms, 60'000) << "whoever looks sees until when";
  Pass(59'999);
  EXPECT_TRUE(launcher_->at(0).stop_graces_ms.empty());
  Pass(1);
  EXPECT_EQ(launcher_->at(0).stop_graces_ms.size(), 1u);
  CommandEnded ended = ExitCode(0);
  ended.stopped = true;
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).timeout_ms, 60'000);
  EXPECT_EQ(Stored(id).error->code, "timed_out");
  EXPECT_THAT(Stored(id).error->message, HasSubstr("the 60 s that this node lets a run last"));
  EXPECT_THAT(Stored(id).error->remedy, HasSubstr("[limits] max_run_minutes"));
}

TEST_F(RunsTest, RefusesATimeoutThatIsLongerThanTheNodeLetsARunLast) {
  options_.longest_run_ms = 60'000;
  Restart();
  RunRequest request = Command();
  request.timeout_ms = 60'001;
  const Status refused = Submit(request).status();
  EXPECT_EQ(refused.code(), ErrorCode::kUsage);
  EXPECT_THAT(refused.ToString(), HasSubstr("60.001 s is over the 60 s"));
  EXPECT_THAT(refused.ToString(), HasSubstr("[limits] max_run_minutes"));
  EXPECT_THAT(refused.remedy(), HasSubstr("--timeout 60s"));
  request.timeout_ms = 60'000;
  EXPECT_EQ(Stored(SubmitOk(request)).timeout_ms, 60'000);
  runs_->SetLongestRun(0);
  request.timeout_ms = 60'001;
  EXPECT_TRUE(Submit(request).ok()) << "there is no limit any more";
}

// What was promised stays: a new limit is for runs that are submitted, or that start with no timeout of their own.
TEST_F(RunsTest, TakesNoTimeAwayFromARunThatHasSomeAlready) {
  RunRequest patient = On("0");
  patient.timeout_ms = 120'000;
  SubmitOk(On("1"));
  ASSERT_TRUE(GoesOn(0));
  SubmitOk(patient);
  runs_->SetLongestRun(60'000);
  ASSERT_TRUE(GoesOn(1));
  Pass(119'999);
  EXPECT_TRUE(launcher_->at(0).stop_graces_ms.empty());
  EXPECT_TRUE(launcher_->at(1).stop_graces_ms.empty());
  Pass(1);
  EXPECT_EQ(launcher_->at(1).stop_graces_ms.size(), 1u);
}

TEST_F(RunsTest, EndsAQueuedRunAtItsQueueTimeout) {
  SubmitOk();
  RunRequest request = Command();
  request.queue_timeout_ms = 1000;
  std::string id = SubmitOk(request);
  Pass(1000);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kFailed);
  EXPECT_EQ(Stored(id).error->code, "queue_timeout");
}

TEST_F(RunsTest, EndsAnAttachedRunThatNobodyHolds) {
  RunRequest request = Command();
  request.attached = true;
  std::string id = SubmitOk(request);
  ASSERT_TRUE(GoesOn(0));
  runs_->Hold(id);
  Pass(60'000);
  EXPECT_TRUE(launcher_->at(0).stop_graces_ms.empty());
  runs_->Unhold(id);
  Pass(9'000);
  runs_->Hold(id);  // resumed in time
  Pass(60'000);
  EXPECT_TRUE(launcher_->at(0).stop_graces_ms.empty());
  runs_->Unhold(id);
  Pass(10'000);
  EXPECT_EQ(launcher_->at(0).stop_graces_ms.size(), 1u);
  CommandEnded ended = ExitCode(0);
  ended.stopped = true;
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kCancelled);
  EXPECT_EQ(Stored(id).error->code, "client_gone");
}

TEST_F(RunsTest, AnswersTheSameKeyWithTheSameRun) {
  RunRequest request = Command();
  request.idempotency_key = "once";
  std::string id = SubmitOk(request);
  EXPECT_EQ(SubmitOk(request), id);
  request.uid = 2000;
  EXPECT_NE(SubmitOk(request), id);  // another caller's key is another key
  EXPECT_EQ(runs_->queue().waiting() + runs_->queue().holding(), 2u);
}

TEST_F(RunsTest, RefusesWhatItCannotDoAndQueuesNothing) {
  RunRequest unknown_tool = Command();
  unknown_tool.tool = "oracle";
  EXPECT_EQ(Submit(unknown_tool).status().code(), ErrorCode::kUsage);
  RunRequest unknown_device = Command();
  unknown_device.device = "9";
  EXPECT_EQ(Submit(unknown_device).status().code(), ErrorCode::kUsage);
  RunRequest nothing = Command();
  nothing.argv.clear();
  EXPECT_EQ(Submit(nothing).status().code(), ErrorCode::kUsage);
  EXPECT_EQ(runs_->queue().waiting() + runs_->queue().holding(), 0u);
}

TEST_F(RunsTest, TellsWatchersEachStateAndTheEndLast) {
  SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  std::string id = SubmitOk();  // waits for the device, so that nothing of it is missed
  std::vector<RunState> seen;
  runs_->Watch(id, [&](const Runs::View& view) { seen.push_back(view.row.state); });
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(GoesOn(1));
  launcher_->at(1).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  for (RunState state : {RunState::kPreparing, RunState::kRunning, RunState::kCollecting}) {
    EXPECT_THAT(seen, Contains(state));
  }
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), RunState::kDone);
}

TEST_F(RunsTest, ShowsNoEndBeforeItIsDurable) {
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  // The writer is held up from the moment when the end is on its way to it.
  std::promise<void> release;
  auto held_up = [released = release.get_future().share()](Db&) {
    released.wait();
    return OkStatus();
  };
  runs_->Watch(id, [&](const Runs::View& view) {
    if (view.row.state == RunState::kCollecting) catalog_->writer().Submit(held_up, [](const Status&) {});
  });
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return runs_->running() == 0; }));  // all but the commit is over
  EXPECT_EQ(runs_->FindOpen(id)->row.state, RunState::kCollecting);
  release.set_value();
  ASSERT_TRUE(HasEnded(id));
  EXPECT_EQ(Stored(id).state, RunState::kDone);
}

TEST_F(RunsTest, KeepsNoEnvironmentOfARunThatNeverStarted) {
  std::string failed = SubmitOk();
  std::string cancelled = SubmitOk();
  ASSERT_TRUE(Until([&] { return launcher_->count() == 1; }));
  EXPECT_TRUE(std::filesystem::exists(layout().SpoolPath(failed)));
  ASSERT_TRUE(Stop(cancelled, Cancelled(), 0).ok());
  launcher_->at(0).Failed(Fail(ErrorCode::kToolMissing, "start 'foo'", "no such program", "check the name"));
  ASSERT_TRUE(HasEnded(failed));
  ASSERT_TRUE(HasEnded(cancelled));
  EXPECT_FALSE(std::filesystem::exists(layout().SpoolPath(failed)));
  EXPECT_FALSE(std::filesystem::exists(layout().SpoolPath(cancelled)));
}

TEST_F(RunsTest, CountsAQueueTimeoutAcrossARestart) {
  SubmitOk();
  SubmitOk();
  RunRequest impatient = Command();
  impatient.queue_timeout_ms = 1000;
  std::string third = SubmitOk(impatient);
  Pass(600);
  Close();
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(runs_->FindOpen(third)->row.state, RunState::kQueued);
  Pass(600);
  ASSERT_TRUE(HasEnded(third));
  EXPECT_EQ(Stored(third).error->code, "queue_timeout");
}

TEST_F(RunsTest, TellsThoseWhoWaitTheirPlaceAsItChanges) {
  SubmitOk();
  std::string second = SubmitOk();
  std::string third = SubmitOk();
  Pass(200);
  int position = -1;
  runs_->Watch(third, [&](const Runs::View& view) { position = view.outlook.position; });
  ASSERT_TRUE(Stop(second, Cancelled(), 0).ok());
  Pass(200);
  EXPECT_EQ(position, 1);
}

TEST_F(RunsTest, DeletesAnEndedRunWithItsFilesButNoOpenOrPinnedOne) {
  std::string id = SubmitOk();
  auto try_delete = [&] {
    std::optional<Status> answer;
    runs_->Delete(id, {1000}, [&](Status status) { answer = status; });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *answer;
  };
  EXPECT_EQ(try_delete().code(), ErrorCode::kUsage);
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  std::optional<Result<RunRow>> pinned;
  runs_->SetPinned(id, true, {1000}, [&](Result<RunRow> row) { pinned = std::move(row); });
  ASSERT_TRUE(Until([&] { return pinned.has_value(); }));
  EXPECT_TRUE((*pinned)->pinned);
  EXPECT_THAT(try_delete().ToString(), HasSubstr("pinned"));
  runs_->SetPinned(id, false, {1000}, [](const Result<RunRow>&) {});
  EXPECT_TRUE(try_delete().ok());
  EXPECT_EQ(try_delete().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(layout().RunFolder(id)));
}

TEST_F(RunsTest, KeepsAPinThatIsSetWhileTheCommandRuns) {
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  bool answered = false;
  runs_->SetPinned(id, true, {1000}, [&](const Result<RunRow>&) { answered = true; });
  ASSERT_TRUE(Until([&] { return answered; }));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  EXPECT_TRUE(Stored(id).pinned);
}

TEST_F(RunsTest, StopsWithoutARunThatDoesNotEnd) {
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  bool stopped = false;
  runs_->StopAll(5000, [&] { stopped = true; });
  Pass(34'000);
  EXPECT_FALSE(stopped);
  Pass(2'000);
  EXPECT_TRUE(stopped);
  // The next start ends it.
  Close();
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(HasEnded(id));
  Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
  EXPECT_EQ(ReadRun(**reader, id)->error->code, "lost_daemon");
}

TEST_F(RunsTest, EndsWhatRunsWhenTheDaemonStopsAndLeavesTheQueue) {
  std::string running = SubmitOk();
  std::string waiting = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  bool stopped = false;
  runs_->StopAll(777, [&] { stopped = true; });
  EXPECT_THAT(launcher_->at(0).stop_graces_ms, ElementsAre(777));
  EXPECT_EQ(Submit(Command()).status().code(), ErrorCode::kNoDaemon);
  EXPECT_FALSE(stopped);
  CommandEnded ended = ExitCode(0);
  ended.stopped = true;
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(Until([&] { return stopped; }));
  EXPECT_EQ(Stored(running).error->code, "lost_daemon");
  EXPECT_EQ(Stored(waiting).state, RunState::kQueued);
  Close();
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(GoesOn(0));
  EXPECT_EQ(launcher_->at(0).marker, waiting);
  EXPECT_THAT(launcher_->at(0).request.environment, Contains("MY_SECRET=s3cret"));
}

TEST_F(RunsTest, CountsSubordinateUidsAsTheirOwnerAlsoAfterARestart) {
  options_.queue.runs_per_uid = 2;
  options_.account_of = [](uint32_t uid) { return uid >= 100'000 ? 1000 : uid; };
  Close();
  ASSERT_TRUE(Open().ok());
  auto submit_as = [&](uint32_t uid) {
    RunRequest request = Command();
    request.uid = uid;
    return Submit(std::move(request));
  };
  SubmitOk();  // runs
  for (uint32_t uid : {100'000, 100'001}) ASSERT_TRUE(submit_as(uid).ok());
  EXPECT_EQ(submit_as(100'002).status().code(), ErrorCode::kQueueFull);
  EXPECT_EQ(submit_as(1000).status().code(), ErrorCode::kQueueFull);
  Close();
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(submit_as(100'002).ok());  // in the place of the one that has the device now
  EXPECT_EQ(submit_as(1000).status().code(), ErrorCode::kQueueFull);
  EXPECT_TRUE(submit_as(2000).ok());
}

TEST_F(RunsTest, GivesTurnsToOwnersNotToTheirSubordinateUids) {
  options_.account_of = [](uint32_t uid) { return uid >= 100'000 ? 1000 : uid; };
  Close();
  ASSERT_TRUE(Open().ok());
  auto submit_as = [&](uint32_t uid) {
    RunRequest request = Command();
    request.uid = uid;
    return Submit(std::move(request))->id;
  };
  submit_as(100'000);  // has the device
  submit_as(100'001);
  const std::string last_of_many = submit_as(100'002);
  const std::string of_another = submit_as(2000);
  EXPECT_EQ(runs_->FindOpen(of_another)->outlook.position, 1);
  EXPECT_EQ(runs_->FindOpen(last_of_many)->outlook.position, 3);
}

TEST_F(RunsTest, TakesBackAQueueThatIsLongerThanItsLimit) {
  for (int i = 0; i < 3; ++i) SubmitOk();
  Close();
  options_.queue.runs = 1;
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(Submit(Command()).status().code(), ErrorCode::kQueueFull);
  EXPECT_GE(runs_->queue().waiting(), 1u);
}

TEST_F(RunsTest, PutsTheFoldersOfNoRunOutOfTheWayAndKeepsThem) {
  const std::string stray = layout().RunFolder("0000000000000000");
  std::filesystem::create_directory(stray);
  ASSERT_TRUE(disk_.files.Create(stray + "/result.bin").ok());
  ASSERT_TRUE(PutStraysAway(*catalog_, disk_.files, clock_, "zzzzzzzzzzzzzzzz", {}).ok());
  EXPECT_FALSE(std::filesystem::exists(stray));
  EXPECT_TRUE(std::filesystem::exists(layout().LostFolder() + "/0000000000000000/result.bin"));
}

TEST_F(RunsTest, DeletesRunsThatAreTooOld) {
  Close();
  options_.retention.max_age_ns = 3600 * kNanosPerSecond;
  ASSERT_TRUE(Open().ok());
  std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  Pass(2 * 3600 * 1000);
  auto is_gone = [&] {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    return ReadRun(**reader, id).status().code() == ErrorCode::kNotFound;
  };
  EXPECT_TRUE(Until(is_gone));
}

TEST_F(RunsTest, RefusesRunsOfWhoeverHasStoredTooMuch) {
  auto refused = [this] {
    Result<RunRow> row = Submit(Command());
    EXPECT_EQ(row.status().code(), ErrorCode::kStorageFull);
    return row.status().why();
  };
  storage_limits_.Set({.runs_per_uid = 1});
  const std::string id = SubmitOk();
  EXPECT_EQ(refused(), "store it: uid 1000 has 1 runs stored, and may have 1");
  RunRequest others = Command();
  others.uid = 1001;
  SubmitOk(others);

  // What the run in question left counts; what its owner deletes does not.
  ASSERT_TRUE(GoesOn(0));
  const OutputFiles& files = launcher_->at(0).files;
  OutputLogWriter(files.stdout_fd, files.progress_fd, OutputStream::kStdout, output_).Write(std::string(1000, 'x'));
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(id));
  storage_limits_.Set({.bytes_per_uid = 900});
  EXPECT_THAT(refused(), testing::HasSubstr(" bytes stored, and may have 900"));
  std::optional<Status> deleted;
  runs_->Delete(id, {1000, "local"}, [&](const Status& status) { deleted = status; });
  ASSERT_TRUE(Until([&] { return deleted.has_value(); }));
  EXPECT_TRUE(deleted->ok()) << deleted->ToString();
  SubmitOk();
  Result<std::vector<FolderEntry>> spooled = disk_.files.List(catalog_->layout().SpoolFolder());
  ASSERT_TRUE(spooled.ok());
  EXPECT_LE(spooled->size(), 2u) << "what was refused left its command behind";
}

TEST_F(RunsTest, MakesRoomAsSoonAsARunLeavesTooMuch) {
  Close();
  options_.retention.max_artifact_bytes = 10;
  ASSERT_TRUE(Open().ok());
  std::vector<std::string> ids;
  for (size_t i = 0; i < 3; ++i) {
    ids.push_back(SubmitOk());
    ASSERT_TRUE(GoesOn(i));
    const OutputFiles& files = launcher_->at(i).files;
    OutputLogWriter(files.stdout_fd, files.progress_fd, OutputStream::kStdout, output_).Write(std::string(8, 'x'));
    launcher_->at(i).Ended(ExitCode(0));
    ASSERT_TRUE(HasEnded(ids.back()));
    if (i == 0) runs_->retention().BeginAdding(ids[0]);
  }
  auto is_there = [&](const std::string& id) {
    Result<ReaderPool::Lease> reader = catalog_->readers().Borrow();
    return ReadRun(**reader, id).ok();
  };
  Pass(1000);
  EXPECT_TRUE(Until([&] { return !is_there(ids[1]); }));
  EXPECT_TRUE(is_there(ids[0])) << "somebody adds to it";
  EXPECT_TRUE(is_there(ids[2])) << "that one fits";
  runs_->retention().EndAdding(ids[0]);
  runs_->retention().OnAdded();
  Pass(1000);
  EXPECT_TRUE(Until([&] { return !is_there(ids[0]); }));
}

}  // namespace
}  // namespace kprof
