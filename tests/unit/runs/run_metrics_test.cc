#include "daemon/runs/run_metrics.h"

#include <gmock/gmock.h>

#include "tests/unit/runs/runs_fixture.h"

namespace kprof {
namespace {

using testing::HasSubstr;

class RunMetricsTest : public RunsFixture, public testing::Test {
 protected:
  RunMetricsTest() { observer_ = &run_metrics_; }

  bool Shows(const std::string& line) {
    return Until([&] { return metrics_.Text().find("\n" + line + "\n") != std::string::npos; });
  }

  Metrics metrics_;
  RunMetrics run_metrics_{metrics_, clock_, {"cpu", "0", "1"}, 10'000};
};

TEST_F(RunMetricsTest, ShowEveryDeviceAndStateFromTheStart) {
  const std::string text = metrics_.Text();
  for (const char* state : {"queued", "preparing", "running", "collecting"}) {
    EXPECT_THAT(text, HasSubstr("kprof_runs{state=\"" + std::string(state) + "\"} 0\n"));
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
  EXPECT_TRUE(Shows("kprof_runs{state=\"running\"} 1"));
  EXPECT_TRUE(Shows("kprof_leases_held{device=\"cpu\"} 1"));

  SubmitOk();
  EXPECT_TRUE(Shows("kprof_runs{state=\"queued\"} 1"));
  EXPECT_TRUE(Shows("kprof_queue_length{device=\"cpu\"} 1"));

  Pass(7000);
  launcher_->at(0).Ended(ExitCode(0));
  ASSERT_TRUE(HasEnded(first));
  EXPECT_TRUE(Shows("kprof_runs_ended_total{tool=\"command\",outcome=\"done\"} 1"));
  EXPECT_TRUE(Shows("kprof_lease_hold_seconds_sum{device=\"cpu\"} 7"));
  EXPECT_TRUE(Shows("kprof_queue_length{device=\"cpu\"} 0"));
  EXPECT_TRUE(Shows("kprof_queue_wait_seconds_count 2"));
  EXPECT_TRUE(Shows("kprof_queue_wait_seconds_sum 7"));
}

TEST_F(RunMetricsTest, CountHowRunsFail) {
  ASSERT_TRUE(Open().ok());
  const std::string id = SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  CommandEnded ended = ExitCode(3);
  launcher_->at(0).Ended(ended);
  ASSERT_TRUE(HasEnded(id));
  EXPECT_TRUE(Shows("kprof_runs_ended_total{tool=\"command\",outcome=\"command_failed\"} 1"));
  EXPECT_TRUE(Shows("kprof_runs{state=\"collecting\"} 0"));
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

TEST_F(RunMetricsTest, KnowTheQueueAfterARestart) {
  ASSERT_TRUE(Open().ok());
  SubmitOk();
  ASSERT_TRUE(GoesOn(0));
  SubmitOk();
  Close();
  Metrics metrics;
  RunMetrics run_metrics(metrics, clock_, {"cpu"}, 10'000);
  observer_ = &run_metrics;
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(GoesOn(0));
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_runs{state=\"running\"} 1\n"));
  EXPECT_THAT(metrics.Text(), HasSubstr("kprof_runs{state=\"queued\"} 0\n"));
}

}  // namespace
}  // namespace kprof
