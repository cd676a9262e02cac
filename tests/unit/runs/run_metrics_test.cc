#include "daemon/runs/run_metrics.h"

#include <gmock/gmock.h>

#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class RunMetricsTest : public RunsFixture, public testing::Test {
 protected:
  RunMetricsTest() {
    observer_ = &run_metrics_;
    for (const char* id : {"cpu", "0", "1"}) run_metrics_.ShowDevice(id);
  }

  bool Shows(const std::string& line) {
    return Until([&] { return metrics_.Text().find("\n" + line + "\n") != std::string::npos; });
  }

  Metrics metrics_;
  RunMetrics run_metrics_{metrics_, clock_, 10'000};
};

TEST_F(RunMetricsTest, ShowEveryDeviceAndStateFromTheStart) {
  const std::string text = metrics_.Text();
  for (const char* state : {"queued", "preparing", "running", "collecting"}) {
    EXPECT_THAT(text, HasSubstr("kprof_runs{state=\"" + std::string(state) + "\",tool=\"command\"} 0\n"));
  }
  for (const char* device : {"cpu", "0", "1"}) {
    EXPECT_THAT(text, HasSubstr("kprof_queue_length{device=\"" + std::string(device) + "\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("kprof_leases_held{device=\"" + std::string(device) + "\"} 0\n"));
  }
  EXPECT_THAT(text, HasSubstr("kprof_queue_limit_runs 10000\n"));
}

TEST_F(RunMetricsTest, FollowARunThroughItsStates) {
  ASSERT_TRUE(Open().ok());
  const std::string first = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  EXPECT_TRUE(Shows("kprof_runs{state=\"running\",tool=\"command\"} 1"));
  EXPECT_TRUE(Shows("kprof_leases_held{device=\"cpu\"} 1"));

  SubmitOk();
  EXPECT_TRUE(Shows("kprof_runs{state=\"queued\",tool=\"command\"} 1"));
  EXPECT_TRUE(Shows("kprof_queue_length{device=\"cpu\"} 1"));

  Pass(7000);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(first));
  EXPECT_TRUE(Shows("kprof_runs_ended_total{tool=\"command\",outcome=\"done\"} 1"));
  EXPECT_TRUE(Shows("kprof_device_runs_ended_total{device=\"cpu\"} 1"));
  EXPECT_TRUE(Shows("kprof_lease_hold_seconds_sum{device=\"cpu\"} 7"));
  EXPECT_TRUE(Shows("kprof_queue_length{device=\"cpu\"} 0"));
  EXPECT_TRUE(Shows("kprof_queue_wait_seconds_count{what=\"run\"} 2"));
  EXPECT_TRUE(Shows("kprof_queue_wait_seconds_sum{what=\"run\"} 7"));
}

TEST_F(RunMetricsTest, CountHowRunsFail) {
  ASSERT_TRUE(Open().ok());
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  CommandEnded ended = ExitCode(3);
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_TRUE(Shows("kprof_runs_ended_total{tool=\"command\",outcome=\"command_failed\"} 1"));
  EXPECT_TRUE(Shows("kprof_runs{state=\"collecting\",tool=\"command\"} 0"));
}

TEST_F(RunMetricsTest, CountAnEndOnceThatCannotBeStored) {
  ASSERT_TRUE(Open().ok());
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  disk_.plan.FailAt(1, Fault::kNoSpace, /*lasting=*/true);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(Until([&] { return IsTerminal(runs_->FindOpen(id)->row.state); }));
  disk_.plan.Heal();
  Pass(60'000);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_TRUE(Shows("kprof_runs_ended_total{tool=\"command\",outcome=\"storage_full\"} 1"));
  EXPECT_TRUE(Shows("kprof_leases_held{device=\"cpu\"} 0"));
}

TEST_F(RunMetricsTest, FollowASessionThroughItsStates) {
  ASSERT_TRUE(Open().ok());
  const std::string holder = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  SessionRequest request;
  request.uid = 1000;
  request.device = "cpu";
  request.attached = false;
  std::string id;
  runs_->sessions().Open(request, [&](Result<SessionRow> row) { id = row->id; });
  ASSERT_TRUE(Until([&] { return !id.empty(); }));
  EXPECT_TRUE(Shows("kprof_sessions{state=\"queued\"} 1"));
  EXPECT_TRUE(Shows("kprof_queue_length{device=\"cpu\"} 1"));

  Pass(7000);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(holder));
  EXPECT_TRUE(Shows("kprof_sessions{state=\"open\"} 1"));
  EXPECT_TRUE(Shows("kprof_sessions{state=\"queued\"} 0"));
  EXPECT_TRUE(Shows("kprof_queue_length{device=\"cpu\"} 0"));
  EXPECT_TRUE(Shows("kprof_queue_wait_seconds_sum{what=\"session\"} 7"));

  bool closed = false;
  runs_->sessions().Close(id, {1000, "local"}, OkStatus(), 0, [&](const Result<SessionRow>&) { closed = true; });
  ASSERT_TRUE(Until([&] { return closed; }));
  EXPECT_TRUE(Shows("kprof_sessions{state=\"open\"} 0"));
  EXPECT_TRUE(Shows("kprof_sessions{state=\"closing\"} 0"));
  EXPECT_TRUE(Shows("kprof_sessions_ended_total{outcome=\"closed\"} 1"));
}

TEST_F(RunMetricsTest, KnowTheSessionsAfterARestart) {
  ASSERT_TRUE(Open().ok());
  SessionRequest request;
  request.uid = 1000;
  request.device = "cpu";
  request.attached = false;
  int opened = 0;
  for (int i = 0; i < 2; ++i) runs_->sessions().Open(request, [&](const Result<SessionRow>&) { ++opened; });
  ASSERT_TRUE(Shows("kprof_sessions{state=\"open\"} 1"));
  ASSERT_TRUE(Until([&] { return opened == 2; }));
  Close();
  Metrics metrics;
  RunMetrics run_metrics(metrics, clock_, 10'000);
  observer_ = &run_metrics;
  ASSERT_TRUE(Open().ok());
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_sessions{state=\"open\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_sessions{state=\"queued\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_queue_length{device=\"cpu\"} 1\n"));
}

TEST_F(RunMetricsTest, KnowTheQueueAfterARestart) {
  ASSERT_TRUE(Open().ok());
  SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  SubmitOk();
  Close();
  Metrics metrics;
  RunMetrics run_metrics(metrics, clock_, 10'000);
  observer_ = &run_metrics;
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(GoesOn(0));
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_runs{state=\"running\",tool=\"command\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_runs{state=\"queued\",tool=\"command\"} 0\n"));
}

}  // namespace
}  // namespace kprof
