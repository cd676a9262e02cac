// A supervisor that lives and does not answer: one that is stopped, or that sets up on a disk that hangs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

class SilentSupervisorTest : public SupervisorLauncherTest {
 protected:
  // No event tells: looks until it is so, and hears nothing meanwhile.
  void LookUntil(const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "waited in vain for " << what;
      std::this_thread::yield();
    }
  }
  void Freeze(pid_t supervisor) {
    ASSERT_GT(supervisor, 1);
    ASSERT_NE(supervisor, ::getpid());
    ::kill(supervisor, SIGSTOP);
    LookUntil([&] { return ReadProcess(supervisor).state == 'T'; }, "the supervisor to be stopped");
  }
  pid_t SupervisorOf(const Command& command) { return ParentOf(command.started->pid); }

  // Lost at exactly this many seconds from now.
  void ExpectLostAfter(const Command& command, int64_t seconds) {
    Pass(seconds - 1);
    EXPECT_FALSE(command.over());
    EXPECT_EQ(launcher_->supervisors(), 1);
    Pass(1);
    WaitUntil([&] { return command.over(); }, "lost");
    ASSERT_TRUE(command.lost);
    EXPECT_NE(command.lost->ToString().find("did not answer when it was told to stop; it and its processes have been "
                                            "ended"),
              std::string::npos)
        << command.lost->ToString();
    EXPECT_EQ(launcher_->supervisors(), 0);
    EXPECT_TRUE(FindDescendants(::getpid()).empty());
  }
};

// Answers with these frames, takes what it is sent, and does not end before its channel does.
std::string Saying(const std::string& frames, const std::string& then = "true") {
  std::string octal;
  for (char byte : frames) {
    const auto value = static_cast<unsigned char>(byte);
    octal += {'\\', static_cast<char>('0' + value / 64), static_cast<char>('0' + value / 8 % 8),
              static_cast<char>('0' + value % 8)};
  }
  return "#!/bin/sh\nprintf '" + octal + "' >&3\n" + then + "\ncat <&3 >/dev/null\n";
}

TEST_F(SilentSupervisorTest, IsKilledSomeTimeAfterTheGrace) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "\n");
  Freeze(SupervisorOf(command));
  command.launched->Stop(3000);
  ExpectLostAfter(command, 3 + 20);
  EXPECT_EQ(ParentOf(command.EscapedPid()), -1);
}

TEST_F(SilentSupervisorTest, HasNoMoreTimeForALaterStop) {
  Command& command = Start({kBin + "/ignore_term"});
  Freeze(SupervisorOf(command));
  command.launched->Stop(10'000);
  Pass(10);
  command.launched->Stop(INT64_MAX);
  Pass(5);
  command.launched->Stop(9000);
  ExpectLostAfter(command, 15);
}

TEST_F(SilentSupervisorTest, HasLessTimeForASecondStopWithoutGrace) {
  Command& command = Start({kBin + "/ignore_term"});
  Freeze(SupervisorOf(command));
  command.launched->Stop(3600'000);
  command.launched->Stop(0);
  ExpectLostAfter(command, 5);
}

TEST_F(SilentSupervisorTest, HasItsTimeForAFirstStopWithoutGrace) {
  Command& command = Start({kBin + "/ignore_term"});
  Freeze(SupervisorOf(command));
  command.launched->Stop(0);
  ExpectLostAfter(command, 20);
}

TEST_F(SilentSupervisorTest, IsLeftAloneWhileNobodyAskedForAnything) {
  Command& command = Start({kBin + "/ignore_term"});
  const pid_t supervisor = SupervisorOf(command);
  Freeze(supervisor);
  Pass(7 * 24 * 3600);
  EXPECT_EQ(launcher_->supervisors(), 1);
  ::kill(supervisor, SIGCONT);
  command.launched->Stop(0);
  WaitUntil([&] { return command.over(); }, "the end");
  EXPECT_TRUE(command.ended);
}

TEST_F(SilentSupervisorTest, IsHeardWhenItIsTheDaemonThatWasHeldUp) {
  const std::string said = folder_ / "said";
  UseSupervisor(Saying(HelloFrame() + FrameOf(LaunchMessage::kPrepared), "touch " + said));
  Command& command = Launch(Request({"true"}));
  LookUntil([&] { return std::filesystem::exists(said); }, "Prepared to lie in the socket");
  Pass(3600);
  EXPECT_EQ(command.prepared, 1);
  EXPECT_FALSE(command.over());
}

TEST_F(SilentSupervisorTest, WritesNothingMoreOnceItsChannelIsClosed) {
  Command& command = Start({"sh", "-c",
                            "echo before; until [ -e gate ]; do sleep 0.01; done; echo after; touch passed; "
                            "exec sleep 300"});
  WaitForOutput(command, "before");
  const pid_t supervisor = SupervisorOf(command);
  Freeze(supervisor);
  std::ofstream(folder_ / "gate").flush();
  LookUntil([&] { return std::filesystem::exists(folder_ / "passed"); }, "the command to have printed");
  command.launched.reset();
  ::kill(supervisor, SIGCONT);
  WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
  EXPECT_EQ(command.Out(), "before\n");
}

TEST_F(SilentSupervisorTest, HasAMinuteToGetReady) {
  UseSupervisor(Saying(HelloFrame()));
  Command& command = Launch(Request({"touch", folder_ / "executed"}));
  Pass(59);
  EXPECT_FALSE(command.over());
  Pass(1);
  WaitUntil([&] { return command.over(); }, "the failure");
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(command.failed->ToString().find("was not ready within 60 s"), std::string::npos);
  EXPECT_NE(command.failed->remedy().find(folder_.path()), std::string::npos);
  EXPECT_TRUE(FindDescendants(::getpid()).empty());
}

TEST_F(SilentSupervisorTest, HasHalfAMinuteFromGoToSayThatItHasStarted) {
  UseSupervisor(Saying(HelloFrame() + FrameOf(LaunchMessage::kPrepared)));
  Command& command = Launch(Request({"true"}));
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  Pass(3600);  // as long as it takes us to say Go
  EXPECT_FALSE(command.over());
  command.launched->Go();
  Pass(29);
  EXPECT_FALSE(command.over());
  Pass(1);
  WaitUntil([&] { return command.over(); }, "the failure");
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(command.failed->ToString().find("within 30 s"), std::string::npos);
  EXPECT_TRUE(FindDescendants(::getpid()).empty());
}

TEST_F(SilentSupervisorTest, IsKilledWhenItsChannelIsClosedAndItStays) {
  Command& command = Start({kBin + "/ignore_term"});
  Freeze(SupervisorOf(command));
  command.launched.reset();
  Pass(19);
  EXPECT_EQ(launcher_->supervisors(), 1);
  Pass(1);
  WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to be gone");
  EXPECT_TRUE(WaitGone(command.started->pid));
}

}  // namespace
}  // namespace kprof
