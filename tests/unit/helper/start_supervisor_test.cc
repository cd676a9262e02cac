#include "daemon/helper/start_supervisor.h"

#include <gmock/gmock.h>

#include "tests/fakes/base/program_file.h"
#include "tests/unit/helper/helper_fixture.h"

namespace kprof {
namespace {

using testing::Contains;
using testing::Not;

const Grant kGrant{kRun, {1000, 1001, {4, 27}}, std::string(64, 'd'), 5, "boot", true};

TEST(SystemdRunArguments, NameTheCallerAndWhatIsExecuted) {
  const std::vector<std::string> arguments = SystemdRunArguments(kGrant, {.launch = "/usr/libexec/kprof/kprof-launch"});
  EXPECT_THAT(arguments, Contains("--unit=kprof-run-" + kRun + ".service"));
  EXPECT_THAT(arguments, Contains("--uid=1000"));
  EXPECT_THAT(arguments, Contains("--gid=1001"));
  EXPECT_THAT(arguments, Contains("--slice=user-1000.slice"));
  EXPECT_THAT(arguments, Contains("--property=SupplementaryGroups=4 27"));
  EXPECT_THAT(std::vector<std::string>(arguments.end() - 5, arguments.end()),
              testing::ElementsAre("--", "/usr/libexec/kprof/kprof-launch", "--kept", "--control-fd=0",
                                   "--digest=" + kGrant.digest));
}

TEST(SystemdRunArguments, SayNothingOfGroupsThatThereAreNot) {
  Grant grant = kGrant;
  grant.caller.groups.clear();
  EXPECT_THAT(SystemdRunArguments(grant, {}), Not(Contains(testing::HasSubstr("SupplementaryGroups"))));
}

// With stand-ins for systemd's programs that take the real ones' flags.
class UnitTest : public HelperTest {
 protected:
  std::vector<std::string> MoreOptions() override {
    const std::string fakes = std::string(KPROF_SOURCE_DIR) + "/tests/fakes/systemd";
    return {"--units", "yes", "--systemd-run", fakes + "/systemd-run", "--systemctl", fakes + "/systemctl"};
  }
};

TEST_F(UnitTest, RunsAsItsCallerWithTheChannelAsItsInput) {
  const LaunchRequest request = Request({"sh", "-c", "id -u; id -g; id -G; exit 5"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  const Outcome outcome = Run(kRun, request);
  ASSERT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.ended->exit_code, 5);
  EXPECT_EQ(outcome.output, "61002\n61002\n61002 61010 61011\n");
}

TEST_F(UnitTest, SaysThatItIsAUnit) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  UniqueFd channel;
  EXPECT_EQ(Start(kRun, channel), HelperMessage(HelperStarted{true}));
}

TEST_F(UnitTest, IsEndedByASweep) {
  const LaunchRequest request = Request({"sleep", "1000"});
  ASSERT_EQ(Register(kRun, request), HelperMessage(HelperDone{}));
  UniqueFd channel;
  ASSERT_EQ(Start(kRun, channel), HelperMessage(HelperStarted{true}));
  Say(channel.get(), FirstFrames(request));
  FrameReader frames;
  ASSERT_EQ(NextFrame(channel.get(), frames)->type, LaunchMessage::kPrepared);
  ASSERT_TRUE(std::holds_alternative<HelperSwept>(Ask(HelperSweep{kRun})));
  EXPECT_FALSE(NextFrame(channel.get(), frames));
}

// What systemd-run says is where an administrator looks; the unit has the same file, and its user may write there.
TEST(StartSupervisor, KeepsWhatSystemdRunSaysAndNoMore) {
  const TemporaryFolder folder{TemporaryFolder::Holds::kPrograms};
  const std::string program = folder / "systemd-run";
  WriteProgram(program,
               "#!/bin/sh\necho 'Failed to start transient service unit: no' >&2\n"
               "head -c 100000 /dev/zero >&2\nexit 1\n");
  SocketPair channel = *MakeSocketPair(SOCK_STREAM);
  Result<StartingSupervisor> starting =
      StartSupervisor(kGrant, {.launch = "/kprof-launch", .systemd_run = program}, OkStatus, std::move(channel.theirs));
  ASSERT_TRUE(starting.ok()) << starting.status().ToString();
  int status = 0;
  ASSERT_EQ(::waitpid(starting->pid, &status, 0), starting->pid);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_TRUE(ReadStartReport(starting->report.get(), kRun).ok()) << "it was executed";
  EXPECT_EQ(ReadComplaint(starting->complaint.get()).find("Failed to start transient service unit: "), 0u);
  struct stat info {};
  ASSERT_EQ(::fstat(starting->complaint.get(), &info), 0);
  EXPECT_EQ(info.st_size, 4096);
}

TEST(StartSupervisor, ReportsWhatCannotBeExecuted) {
  const TemporaryFolder folder{TemporaryFolder::Holds::kPrograms};
  const std::string program = folder / "systemd-run";
  WriteProgram(program, "no program\n");
  SocketPair channel = *MakeSocketPair(SOCK_STREAM);
  Result<StartingSupervisor> starting =
      StartSupervisor(kGrant, {.launch = "/kprof-launch", .systemd_run = program}, OkStatus, std::move(channel.theirs));
  ASSERT_TRUE(starting.ok()) << starting.status().ToString();
  ASSERT_EQ(::waitpid(starting->pid, nullptr, 0), starting->pid);
  Status report = ReadStartReport(starting->report.get(), kRun);
  EXPECT_EQ(report.code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(report.why(), "exec: Exec format error");
}

class NoProgramTest : public HelperTest {
 protected:
  std::vector<std::string> MoreOptions() override { return {"--units", "no", "--launcher", "/absent/kprof-launch"}; }
};

TEST_F(NoProgramTest, IsRefusedWithItsPath) {
  ASSERT_EQ(Register(kRun, Request({"true"})), HelperMessage(HelperDone{}));
  UniqueFd channel;
  EXPECT_TRUE(IsRefused(Start(kRun, channel), "/absent/kprof-launch"));
}

}  // namespace
}  // namespace kprof
