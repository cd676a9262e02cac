// A supervisor that is killed, and the sweep of the tree that it leaves.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/launch/process_sweep.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "tests/fakes/base/right_to_kill.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

// Not just any number: kill takes -1 for everybody.
void Kill(pid_t pid, int signal = SIGKILL) {
  ASSERT_GT(pid, 1);
  ASSERT_NE(pid, ::getpid());
  ::kill(pid, signal);
}

TEST_F(SupervisorLauncherTest, SweepsTheTreeOfAKilledSupervisorAndReportsItLost) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "\n");
  const pid_t escaped = command.EscapedPid();
  Command& other = Start({kBin + "/ignore_term"});  // of another supervisor: not to be touched
  WaitForOutput(other, "ready");
  Kill(ParentOf(command.started->pid));
  WaitUntil([&] { return command.over(); }, "lost");
  ASSERT_TRUE(command.lost);
  EXPECT_NE(command.lost->ToString().find("killed by signal 9; its processes have been ended"), std::string::npos);
  EXPECT_EQ(command.may_live_on, 0);
  // Gone and reaped by the time the event comes.
  EXPECT_EQ(ParentOf(command.started->pid), -1);
  EXPECT_EQ(ParentOf(escaped), -1);
  EXPECT_FALSE(other.over());
  EXPECT_EQ(::kill(other.started->pid, 0), 0);
  EXPECT_NE(ParentOf(other.started->pid), ::getpid());
}

TEST_F(SupervisorLauncherTest, ReportsASupervisorLostThatIsKilledBeforeGo) {
  Command& command = Launch(Request({"touch", folder_ / "executed"}));
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  std::vector<pid_t> tree = FindDescendants(::getpid());  // the child that waits for Go, and its supervisor
  ASSERT_EQ(tree.size(), 2u);
  Kill(tree[1]);
  WaitUntil([&] { return command.over(); }, "lost");
  EXPECT_TRUE(command.lost);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
  EXPECT_TRUE(FindDescendants(::getpid()).empty());
}

TEST_F(SupervisorLauncherTest, SweepsAStormOfForksThatAKilledSupervisorLeft) {
  LaunchRequest request = Request({kBin + "/fork_storm", "8"});
  request.leftover_grace_ms = 600'000;
  Command& command = Start(request);
  WaitForOutput(command, "storm");
  std::vector<pid_t> tree = FindDescendants(::getpid());
  ASSERT_FALSE(tree.empty());
  const pid_t supervisor = tree.back();  // the deepest come first
  ASSERT_EQ(ParentOf(supervisor), ::getpid());
  Kill(supervisor);
  WaitUntil([&] { return command.over(); }, "lost");
  EXPECT_TRUE(command.lost);
  EXPECT_TRUE(FindDescendants(::getpid()).empty());
}

// A process that has become another user cannot be ended by one who lacks the right; root without CAP_KILL stands for
// any user here.
TEST_F(SupervisorLauncherTest, CountsAndLeavesWhatHasChangedItsIdentity) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to start a process that is somebody else's";
  LaunchRequest request = Request({"sh", "-c",
                                   "setpriv --reuid 1 --regid 1 --clear-groups sh -c 'echo up; exec sleep 300' & "
                                   "while ! grep -q up " +
                                       folder_ / "1/stdout.log; do sleep 0.01; done"});
  request.leftover_grace_ms = 10;
  std::optional<CommandEnded> ended;
  std::thread without_rights([&] {
    ::prctl(PR_CAPBSET_DROP, CAP_KILL, 0, 0, 0);
    ended = Run(request).ended;
  });
  without_rights.join();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_EQ(ended->leftover_processes, 0);
  EXPECT_EQ(ended->unkillable_processes, 1);
}

// The same, where it is the daemon who cannot end it: the run says so, and the next one on its devices is told.
TEST_F(SupervisorLauncherTest, TellsOfWhatAKilledSupervisorLeftAndNobodyCouldEnd) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to start a process that is somebody else's";
  Command& command = Start(
      Request({"setpriv", "--reuid", "1", "--regid", "1", "--clear-groups", "sh", "-c", "echo up; exec sleep 300"}));
  WaitForOutput(command, "up");
  bool dropped = false;
  // In the one worker, which sweeps.
  auto give_up = [&] { loop_.Post([&dropped, done = SetRightToKill(false)] { dropped = done; }); };
  ASSERT_TRUE(pool_->Submit(give_up).ok());
  WaitUntil([&] { return dropped; }, "the worker to lose its right");
  Kill(ParentOf(command.started->pid));
  WaitUntil([&] { return command.over(); }, "lost");
  EXPECT_EQ(command.may_live_on, 1);
  ASSERT_TRUE(command.lost);
  EXPECT_NE(command.lost->why().find("1 of its processes could not be ended"), std::string::npos);
  EXPECT_EQ(command.lost->why().find("have been ended"), std::string::npos);
  EXPECT_EQ(::kill(command.started->pid, 0), 0);
}

TEST_F(SupervisorLauncherTest, LeavesChildrenOfOtherRoomsAloneWhenItSweeps) {
  Command& command = Start({kBin + "/ignore_term"});
  pid_t child = launcher_->own_children().Add([] {
    pid_t pid = ::fork();
    if (pid == 0) {
      ::execl("/bin/sleep", "sleep", "300", nullptr);
      ::_exit(127);
    }
    return pid;
  });
  Kill(ParentOf(command.started->pid));
  WaitUntil([&] { return command.over(); }, "lost");
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  Kill(child);
  ::waitpid(child, nullptr, 0);
  launcher_->own_children().Remove(child);
}

TEST_F(SupervisorLauncherTest, DoesNotHearTheSignalsOfTheDaemonsTerminal) {
  Command& command = Start({kBin + "/ignore_term"});
  WaitForOutput(command, "ready");
  const pid_t supervisor = ParentOf(command.started->pid);
  EXPECT_NE(::getpgid(supervisor), ::getpgrp());
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) Kill(supervisor, signal);
  command.launched->Stop(0);
  WaitUntil([&] { return command.over(); }, "the end");
  EXPECT_TRUE(command.ended);
}

}  // namespace
}  // namespace kprof
