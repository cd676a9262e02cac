// How a command is stopped, before and after its start, and what becomes of the processes that it leaves.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include "daemon/launch/process_sweep.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

TEST_F(SupervisorLauncherTest, ExecutesNothingBeforeGo) {
  Command& command = Launch(Request({"touch", folder_ / "executed"}));
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  command.launched.reset();
  WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
  EXPECT_EQ(command.events, 1);
}

TEST_F(SupervisorLauncherTest, EndsWhenItsChannelClosesInTheMiddleOfTheRequest) {
  LaunchRequest request = Request({"touch", folder_ / "executed"});
  request.environment.resize(30, "X=" + std::string(100'000, 'x'));  // more than a socket takes at once
  Command& command = Launch(request);
  command.launched.reset();
  WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
  EXPECT_EQ(command.events, 0);
}

TEST_F(SupervisorLauncherTest, StopsPolitelyWhenTheCommandListens) {
  Command& command = Start({kBin + "/ignore_term", "42"});
  WaitForOutput(command, "ready");
  command.launched->Stop(60'000);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 42);
  EXPECT_TRUE(command.ended->stopped);
  EXPECT_FALSE(command.ended->killed);
}

TEST_F(SupervisorLauncherTest, KillsACommandThatIgnoresTermAfterTheGrace) {
  Command& command = Start({kBin + "/ignore_term"});
  WaitForOutput(command, "ready");
  const int64_t before_ns = clock_.mono_ns();
  command.launched->Stop(100);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGKILL);
  EXPECT_TRUE(command.ended->stopped);
  EXPECT_TRUE(command.ended->killed);
  EXPECT_GE(clock_.mono_ns() - before_ns, 100 * kNanosPerMilli);
}

TEST_F(SupervisorLauncherTest, LetsASecondStopOnlyShortenTheGrace) {
  Command& command = Start({kBin + "/ignore_term"});
  WaitForOutput(command, "ready");
  command.launched->Stop(3600'000);
  command.launched->Stop(50);
  command.launched->Stop(3600'000);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_TRUE(command.ended->killed);
}

TEST_F(SupervisorLauncherTest, StopsACommandThatIsStoppedBySignal) {
  Command& command = Start({"sh", "-c", "echo ready; kill -STOP $$"});
  WaitForOutput(command, "ready");
  command.launched->Stop(60'000);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_FALSE(command.ended->killed);
}

TEST_F(SupervisorLauncherTest, EndsWithoutStartedWhenStoppedBeforeGo) {
  Command& command = Launch(Request({"touch", folder_ / "executed"}));
  command.launched->Stop(60'000);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_FALSE(command.started);
  EXPECT_TRUE(command.ended->stopped);
  EXPECT_EQ(command.ended->wall_ns, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(SupervisorLauncherTest, EndsWhatTheCommandLeavesBehind) {
  LaunchRequest request = Request({kBin + "/fork_escape", "exit"});
  request.leftover_grace_ms = 50;
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->leftover_processes, 1);
  EXPECT_EQ(command.ended->unkillable_processes, 0);
  EXPECT_FALSE(command.ended->killed);
  EXPECT_TRUE(WaitGone(command.EscapedPid()));
}

TEST_F(SupervisorLauncherTest, GivesLeftoversTheirGrace) {
  LaunchRequest request = Request({"sh", "-c",
                                   "trap 'echo bye; exit' TERM; (trap 'echo bye; exit' TERM; echo up; "
                                   "while :; do sleep 0.01; done) & while ! grep -q up " +
                                       folder_ / "1/stdout.log; do sleep 0.01; done"});
  request.leftover_grace_ms = 60'000;
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_GE(command.ended->leftover_processes, 1);
  EXPECT_NE(command.Out().find("bye"), std::string::npos);
}

TEST_F(SupervisorLauncherTest, KillsEscapedProcessesOnStop) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "\n");
  command.launched->Stop(50);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_TRUE(WaitGone(command.EscapedPid()));
  EXPECT_EQ(ParentOf(command.EscapedPid()), -1);
}

TEST_F(SupervisorLauncherTest, EndsAStormOfForks) {
  LaunchRequest request = Request({kBin + "/fork_storm", "8"});
  request.leftover_grace_ms = 20;
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_GE(command.ended->leftover_processes, 1);
  EXPECT_EQ(command.ended->unkillable_processes, 0);
  EXPECT_TRUE(FindDescendants(::getpid()).size() <= 1);  // the supervisor itself may still be on its way out
}

TEST_F(SupervisorLauncherTest, KillsTheWholeTreeWhenTheLauncherGoes) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "\n");
  const pid_t escaped = command.EscapedPid();
  const pid_t supervisor = ParentOf(command.started->pid);
  launcher_.reset();
  EXPECT_TRUE(WaitGone(command.started->pid));
  EXPECT_TRUE(WaitGone(escaped));
  EXPECT_TRUE(WaitGone(supervisor));
  EXPECT_EQ(command.events, 2);  // Prepared, Started, and no more
}

TEST_F(SupervisorLauncherTest, TellsNothingAfterTheLaunchedIsGone) {
  Command& command = Start({kBin + "/ignore_term"});
  command.launched.reset();
  WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
  EXPECT_TRUE(WaitGone(command.started->pid));
  EXPECT_FALSE(command.over());
}

TEST_F(SupervisorLauncherTest, LetsALaunchedBeDestroyedInItsOwnEvents) {
  for (int at = 1; at <= 3; ++at) {
    std::unique_ptr<Launched> launched;
    int events = 0;
    auto maybe_destroy = [&] {
      if (++events == at) launched.reset();
    };
    LaunchEvents heard;
    heard.prepared = [&, token = std::make_shared<int>(1)] {
      maybe_destroy();
      EXPECT_EQ(*token, 1);  // still there
      if (launched) launched->Go();
    };
    heard.started = [&](const CommandStarted&) { maybe_destroy(); };
    heard.ended = [&](const CommandEnded&) { maybe_destroy(); };
    UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    launched = *launcher_->Launch(Request({"true"}), LaunchAs{}, "run", {null.get(), null.get(), null.get()}, heard);
    WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
    EXPECT_EQ(events, at);
  }
}

}  // namespace
}  // namespace kprof
