// Launches that a client starts: the test is the client.
#include "daemon/process/launchers/client_launcher.h"

#include <spawn.h>
#include <sys/wait.h>

#include <csignal>

#include "daemon/launch/launch_request.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

class ClientLauncherTest : public SupervisorLauncherTest {
 protected:
  ClientLauncherTest() { client_.emplace(loop_); }
  ~ClientLauncherTest() override {
    commands_.clear();
    client_.reset();
  }

  Launcher& Door() override { return *client_; }
  LaunchAs As() override { return {RunStarter::kClient, 1000}; }
  void AfterLaunch(Command& command) override {
    if (!comes_) return;
    Result<UniqueFd> channel = client_->Take(command.marker, 1000);
    ASSERT_TRUE(channel.ok()) << channel.status().ToString();
    StartSupervisor(*std::move(channel), asked_digest_.empty() ? LaunchDigest(command.request) : asked_digest_);
  }

  void StartSupervisor(UniqueFd channel, const std::string& digest) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, channel.get(), 3);
    std::string path = kBin + "/kprof-launch";
    std::string kept = "--kept";
    std::string option = "--digest=" + digest;
    char* argv[] = {path.data(), kept.data(), option.data(), nullptr};
    ASSERT_EQ(::posix_spawn(&guard_, path.c_str(), &actions, nullptr, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
  }

  // 0 when it has none.
  static pid_t ChildOf(pid_t parent) {
    for (const ProcessRow& row : ReadProcessTable()) {
      if (row.parent == parent) return row.pid;
    }
    return 0;
  }

  int KeepersStatus() {
    int status = 0;
    EXPECT_EQ(::waitpid(guard_, &status, 0), guard_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // The daemon is gone, and the one after it asks for the end of what this one left. The answer comes to `ended_`.
  void RestartOver(Command& command) {
    command.launched.reset();
    command.held.Reset();
    UniqueFd anew(::open(command.ProgressPath().c_str(), O_RDONLY | O_CLOEXEC));
    client_->EndRemains(As(), command.marker, std::move(anew), [this](const Status& status) { ended_ = status; });
  }

  bool comes_ = true;
  std::string asked_digest_;  // of what the client asked for; empty: that is what is launched
  pid_t guard_ = -1;
  std::optional<Status> ended_;
  std::optional<ClientLauncher> client_;
};

TEST_F(ClientLauncherTest, FollowsACommandThatTheClientStarted) {
  Command& command = Run({"sh", "-c", "echo $KPROF_RUN_ID; exit 3"});
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 3);
  EXPECT_EQ(command.Out(), command.marker + "\n");
  EXPECT_EQ(KeepersStatus(), kLaunchTreeGone);
}

TEST_F(ClientLauncherTest, OffersALaunchOnceAndOnlyToWhoseItIs) {
  comes_ = false;
  Command& command = Launch(Request({"true"}));
  EXPECT_TRUE(client_->IsOffered(command.marker));
  EXPECT_EQ(client_->Take(command.marker, 1001).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(client_->Take(command.marker, 0).status().code(), ErrorCode::kNotFound);
  EXPECT_EQ(client_->Take("another", 1000).status().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(client_->Take(command.marker, 1000).ok());
  EXPECT_FALSE(client_->IsOffered(command.marker));
  EXPECT_EQ(client_->Take(command.marker, 1000).status().code(), ErrorCode::kNotFound);
}

TEST_F(ClientLauncherTest, FailsALaunchThatNobodyComesFor) {
  comes_ = false;
  Command& command = Launch(Request({"true"}));
  Pass(9);
  EXPECT_FALSE(command.over());
  Pass(2);
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kClientGone);
  EXPECT_EQ(client_->Take(command.marker, 1000).status().code(), ErrorCode::kNotFound);
}

TEST_F(ClientLauncherTest, FailsALaunchWhoseClientDoesNotStartIt) {
  comes_ = false;
  Command& command = Launch(Request({"true"}));
  client_->Take(command.marker, 1000)->Reset();
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(command.failed->why().find("before it was ready"), std::string::npos);
}

TEST_F(ClientLauncherTest, WithdrawsTheOfferOfALaunchThatIsGivenUp) {
  comes_ = false;
  Command& command = Launch(Request({"true"}));
  command.launched.reset();
  EXPECT_FALSE(client_->IsOffered(command.marker));
}

TEST_F(ClientLauncherTest, EndsTheTreeWhenTheLaunchIsGivenUp) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "escaped ");
  const pid_t escaped = command.EscapedPid();
  command.launched.reset();
  EXPECT_TRUE(WaitGone(escaped));
  EXPECT_EQ(KeepersStatus(), kLaunchTreeGone);
}

TEST_F(ClientLauncherTest, LosesAKilledSupervisorWhenItsKeeperHasEndedTheTree) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "escaped ");
  const pid_t supervisor = ChildOf(guard_);
  ASSERT_GT(supervisor, 1);
  ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.lost);
  const pid_t escaped = command.EscapedPid();
  ASSERT_GT(escaped, 1);
  EXPECT_EQ(::kill(escaped, 0), -1);  // gone before it was said
  EXPECT_EQ(KeepersStatus(), kLaunchTreeGone);
}

TEST_F(ClientLauncherTest, WaitsUntilAllIsGoneOfWhatAKilledDaemonLeft) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "escaped ");
  const pid_t escaped = command.EscapedPid();
  ASSERT_GT(escaped, 1);
  RestartOver(command);
  EXPECT_FALSE(ended_);
  WaitUntil([&] { return ended_.has_value(); }, "the end of all");
  EXPECT_TRUE(ended_->ok());
  EXPECT_EQ(::kill(escaped, 0), -1);
}

TEST_F(ClientLauncherTest, WaitsForTheKeeperWhereTheSupervisorWasKilledToo) {
  Command& command = Start({kBin + "/fork_escape", "stay"});
  WaitForOutput(command, "escaped ");
  const pid_t escaped = command.EscapedPid();
  const pid_t supervisor = ChildOf(guard_);
  ASSERT_EQ(::kill(guard_, SIGSTOP), 0);
  ASSERT_EQ(::kill(supervisor, SIGKILL), 0);
  RestartOver(command);
  Pass(30);
  EXPECT_FALSE(ended_) << "the guard has not ended its tree";
  EXPECT_EQ(::kill(escaped, 0), 0);
  ASSERT_EQ(::kill(guard_, SIGCONT), 0);
  WaitUntil([&] { return ended_.has_value(); }, "the end of all");
  EXPECT_TRUE(ended_->ok());
  EXPECT_EQ(::kill(escaped, 0), -1);
}

TEST_F(ClientLauncherTest, SaysSoWhenWhatAKilledDaemonLeftDoesNotEnd) {
  Command& command = Start({"sleep", "1000"});
  ASSERT_EQ(::kill(guard_, SIGSTOP), 0);
  ASSERT_EQ(::kill(ChildOf(guard_), SIGSTOP), 0);
  RestartOver(command);
  Pass(39);
  EXPECT_FALSE(ended_);
  Pass(2);
  ASSERT_TRUE(ended_);
  EXPECT_EQ(ended_->code(), ErrorCode::kTimedOut);
}

TEST_F(ClientLauncherTest, WaitsForNobodyWhereNothingWasLaunched) {
  client_->EndRemains(As(), "never", UniqueFd(), [this](const Status& status) { ended_ = status; });
  EXPECT_FALSE(ended_) << "not from inside";
  loop_.RunUntilIdle();
  EXPECT_TRUE(ended_.has_value() && ended_->ok());
}

TEST_F(ClientLauncherTest, GoesOnWithoutItsKeeper) {
  Command& command = Start({"sleep", "1000"});
  ASSERT_GT(guard_, 1);
  ASSERT_EQ(::kill(guard_, SIGKILL), 0);
  EXPECT_EQ(KeepersStatus(), -1);
  command.launched->Stop(0);
  WaitUntil([&] { return command.over(); }, "the end");
  EXPECT_TRUE(command.ended);
}

TEST_F(ClientLauncherTest, StartsOnlyWhatHasTheRightSum) {
  LaunchRequest request = Request({"touch", folder_ / "executed"});
  asked_digest_ = LaunchDigest(request);
  EXPECT_TRUE(Run(request).ended);
  ASSERT_TRUE(std::filesystem::remove(folder_ / "executed"));
  request.argv.push_back(folder_ / "more");
  Command& command = Run(request);
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(command.failed->why().find("not what its caller asked for"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(ClientLauncherTest, BringsAllThatWasPrinted) {
  LaunchRequest request = Request({"sh", "-c", "head -c 3000000 /dev/zero; echo the end >&2"});
  request.output_head_bytes = request.output_tail_bytes = 4 << 20;
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->stdout_bytes, 3'000'000);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, 0);
  EXPECT_EQ(command.Out(), std::string(3'000'000, '\0'));
  EXPECT_EQ(command.Err(), "the end\n");
}

TEST_F(ClientLauncherTest, DropsAndCountsWhatNobodyTakesAnyMore) {
  Command& command = Launch(Request({"head", "-c", "3000000", "/dev/zero"}));
  command.taking.reset();
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  command.launched->Go();
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_bytes, 3'000'000);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, 3'000'000);
}

TEST_F(ClientLauncherTest, EndsUnderAStopAlsoWhenItsOutputIsNotTaken) {
  take_output_ = false;
  Command& command = Start({"head", "-c", "30000000", "/dev/zero"});
  const pid_t head = ChildOf(ChildOf(guard_));
  ASSERT_GT(head, 1);
  WaitUntil([&] { return ReadProcess(head).state == 'S'; }, "waiting, as at any full pipe");
  EXPECT_FALSE(command.over());
  command.launched->Stop(0);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGKILL);
  EXPECT_GT(command.ended->stdout_dropped_bytes, 0);
  EXPECT_LT(command.ended->stdout_bytes, 30'000'000);
}

TEST_F(ClientLauncherTest, IsLostAlsoWhenTheStoppedSupervisorNeverAnswers) {
  comes_ = false;
  Command& command = Launch(Request({"true"}));
  UniqueFd mute = *client_->Take(command.marker, 1000);  // a client that does nothing with it
  Pass(61);
  EXPECT_FALSE(command.over());  // its guard would be ending it now
  EXPECT_EQ(command.may_live_on, 0);
  Pass(41);
  ASSERT_TRUE(command.failed);
  EXPECT_NE(command.failed->why().find("does not end"), std::string::npos);
  EXPECT_EQ(command.may_live_on, 1);
}

}  // namespace
}  // namespace kprof
