// $KPROF_METRICS: what a command writes there comes with its end, and nobody who holds the pipe holds the end up.
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

class SupervisorLauncherMetricsTest : public SupervisorLauncherTest {
 protected:
  CommandEnded RunShell(const std::string& script) {
    Command& command = Run({"bash", "-c", script});
    EXPECT_TRUE(command.ended);
    EXPECT_EQ(command.ended->exit_code, 0) << command.Err();
    return *command.ended;
  }
};

TEST_F(SupervisorLauncherMetricsTest, WhatIsWrittenComesWithTheEnd) {
  const CommandEnded ended = RunShell("echo one > $KPROF_METRICS; echo two >> $KPROF_METRICS; printf three >&100");
  EXPECT_EQ(ended.metrics, "one\ntwo\nthree");
  EXPECT_EQ(ended.metrics_dropped_bytes, 0);
}

TEST_F(SupervisorLauncherMetricsTest, ACommandThatWritesNoneHasNone) {
  EXPECT_EQ(RunShell("true").metrics, "");
}

// As torchrun's workers are: started without the descriptors of who started them.
TEST_F(SupervisorLauncherMetricsTest, AProcessWithoutTheDescriptorFindsThePath) {
  EXPECT_EQ(RunShell("bash -c 'exec 100>&-; echo from a worker > $KPROF_METRICS'; true").metrics, "from a worker\n");
}

TEST_F(SupervisorLauncherMetricsTest, ACommandThatClosesItRunsOn) {
  EXPECT_EQ(RunShell("echo before > $KPROF_METRICS; exec 100>&-; sleep 0.2").metrics, "before\n");
}

TEST_F(SupervisorLauncherMetricsTest, BeyondItsBoundItIsCountedAndNobodyWaits) {
  const CommandEnded ended = RunShell("head -c 3000000 /dev/zero | tr '\\0' x > $KPROF_METRICS");
  EXPECT_EQ(ended.metrics, std::string(kMostMetricTextBytes, 'x'));
  EXPECT_EQ(ended.metrics_dropped_bytes, 3'000'000 - static_cast<int64_t>(kMostMetricTextBytes));
}

// It has left the tree for good: the supervisor cannot end it.
TEST_F(SupervisorLauncherMetricsTest, AChildThatKeepsItOpenHoldsNothingUp) {
  const auto begin = std::chrono::steady_clock::now();
  const CommandEnded ended = RunShell("echo kept > $KPROF_METRICS; (trap '' TERM; exec sleep 50) & sleep 0.1");
  EXPECT_EQ(ended.metrics, "kept\n");
  EXPECT_EQ(ended.leftover_processes, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(45));
}

TEST_F(SupervisorLauncherMetricsTest, AStoppedCommandHasWhatItWrote) {
  Command& command = Start({"sh", "-c", "echo early > $KPROF_METRICS; echo ready; exec sleep 50"});
  WaitForOutput(command, "ready");
  command.launched->Stop(0);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->metrics, "early\n");
}

TEST_F(SupervisorLauncherMetricsTest, WhatAStepWritesComesBehindIt) {
  LaunchRequest request = Request({"sh", "-c", "echo command > $KPROF_METRICS"});
  request.check = "echo check > $KPROF_METRICS";
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->metrics, "command\ncheck\n");
}

// One that was set by a run around this one is not what its command gets.
TEST_F(SupervisorLauncherMetricsTest, OneOfAnotherRunIsNotHandedOn) {
  LaunchRequest request = Request({"sh", "-c", "echo mine > $KPROF_METRICS"});
  request.environment.push_back("KPROF_METRICS=/nowhere/at/all");
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->metrics, "mine\n");
}

}  // namespace
}  // namespace kprof
