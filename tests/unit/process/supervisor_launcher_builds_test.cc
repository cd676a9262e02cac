// A kprof-launch that is missing, replaced while kprofd runs, or of another build.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "daemon/launch/launch_protocol.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

TEST_F(SupervisorLauncherTest, SaysThatTheSupervisorIsMissing) {
  auto program = OpenSupervisorProgram("/no/such/kprof-launch");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), ErrorCode::kUsage);
  EXPECT_NE(program.status().ToString().find("there is no program /no/such/kprof-launch"), std::string::npos);
}

TEST_F(SupervisorLauncherTest, SaysThatTheSupervisorIsNoProgramOfThisMachine) {
  UseSupervisor("no program");
  auto launched = launcher_->Launch(Request({"true"}), LaunchAs{}, "run", NoOutput(), {});
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.status().code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(launcher_->supervisors(), 0);
}

TEST_F(SupervisorLauncherTest, GoesOnWithTheSupervisorThatItStartedWith) {
  UseSupervisor(ReadFile(kBin + "/kprof-launch"));
  std::filesystem::remove(SupervisorPath());
  Command& without = Run({"sh", "-c", "exit 7"});
  ASSERT_TRUE(without.ended);
  EXPECT_EQ(without.ended->exit_code, 7);
  WriteProgram(SupervisorPath(), "#!/bin/sh\nexit 1\n");
  Command& beside_another = Run({"sh", "-c", "exit 8"});
  ASSERT_TRUE(beside_another.ended);
  EXPECT_EQ(beside_another.ended->exit_code, 8);
}

TEST_F(SupervisorLauncherTest, NamesTheSupervisorAsTheProgramIsNamed) {
  Command& command =
      Run({"sh", "-c", R"(cd /proc/$PPID; cat comm; tr '\0' '\n' <cmdline; ls -l fd | grep -c kprof-launch)"});
  EXPECT_EQ(command.Out(), "kprof-launch\nkprof-launch\n0\n");  // nor does it keep its file open
}

TEST_F(SupervisorLauncherTest, RefusesASupervisorOfAnotherBuild) {
  const std::string wait_for_the_end = "\ncat <&3 >/dev/null\n";
  const std::string other_builds[] = {
      "exit 0\n",                                                 // from before Hello: our first frame is none to it
      R"(printf '\001\000\000\000\020' >&3)" + wait_for_the_end,  // Prepared without Hello
      R"(printf '\011\000\000\000\010KPRL\377\000\000\000\001\000\000\000\020' >&3)" + wait_for_the_end,
      R"(printf 'hello, dear daemon' >&3)" + wait_for_the_end,
  };
  for (const std::string& script : other_builds) {
    UseSupervisor("#!/bin/sh\n" + script);
    Command& command = Launch(Request({"touch", folder_ / "executed"}));
    WaitUntil([&] { return command.over(); }, "the refusal");
    ASSERT_TRUE(command.failed) << script;
    EXPECT_EQ(command.failed->ToString(),
              "start 'touch': kprofd and kprof-launch are of different builds; restart kprofd");
    EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
    EXPECT_EQ(command.events, 1) << script;
    WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
    EXPECT_EQ(command.events, 1) << script;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(SupervisorLauncherTest, IsRefusedByASupervisorOfAnotherBuild) {
  const LaunchRequest request = Request({"touch", folder_ / "executed"});
  const std::string prepare = FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(request));
  for (const std::string& hello : {std::string(), HelloFrame(kLaunchProtocolVersion + 1)}) {
    auto spawned =
        SpawnSupervisor(*OpenSupervisorProgram(kBin + "/kprof-launch"), {}, NoOutput(), launcher_->own_children());
    ASSERT_TRUE(spawned.ok()) << spawned.status().ToString();
    const std::string said = hello + prepare + FrameOf(LaunchMessage::kGo);
    ASSERT_EQ(::write(spawned->channel.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
    std::string answer;
    char block[4096];
    for (ssize_t size = 0; (size = ::read(spawned->channel.get(), block, sizeof block)) > 0;) {
      answer.append(block, static_cast<size_t>(size));
    }
    EXPECT_EQ(answer, FrameOf(LaunchMessage::kLaunchFailed, EncodeLaunchFailure({kOtherBuildsStep, EPROTO})));
    int wait_status = -1;
    EXPECT_EQ(::waitpid(spawned->pid, &wait_status, 0), spawned->pid);
    launcher_->own_children().Remove(spawned->pid);
    EXPECT_EQ(wait_status, 0);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

}  // namespace
}  // namespace kprof
