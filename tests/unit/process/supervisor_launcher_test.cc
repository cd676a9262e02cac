// How a command starts and what is reported of it. The real kprof-launch, real processes, the real clock.
#include "daemon/process/launchers/supervisor_launcher.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/launch/host_cpu.h"
#include "tests/unit/process/launcher_fixture.h"

namespace kprof {
namespace {

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (unsigned char c : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", c);
    hex += digits;
  }
  return hex;
}

// The lines of show_self that begin with this word, without it.
std::vector<std::string> Facts(const std::string& output, const std::string& word) {
  std::vector<std::string> facts;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word + " ")) facts.push_back(line.substr(word.size() + 1));
  }
  return facts;
}

TEST_F(SupervisorLauncherTest, MarksTheSupervisorAsItsCommand) {
  LaunchRequest request =
      Request({"sh", "-c", R"(tr '\0' '\n' </proc/$PPID/environ | grep -e ^KPROF_RUN_ID= -e ^KPROF_STATE= | sort)"});
  request.environment.push_back("KPROF_STATE=7-8");
  Command& command = Launch(request, "run1");
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  command.launched->Go();
  WaitUntil([&] { return command.over(); }, "the end");
  EXPECT_EQ(command.Out(), "KPROF_RUN_ID=run1\nKPROF_STATE=7-8\n");
}

TEST_F(SupervisorLauncherTest, ReportsExitCodeOutputAndTimes) {
  const int64_t before_ns = clock_.unix_ns();
  Command& command = Run({"sh", "-c", "echo out; echo err >&2; exit 7"});
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 7);
  EXPECT_EQ(command.ended->signal, std::nullopt);
  EXPECT_EQ(command.Out(), "out\n");
  EXPECT_EQ(command.Err(), "err\n");
  EXPECT_EQ(command.ended->stdout_bytes, 4);
  EXPECT_EQ(command.ended->stderr_bytes, 4);
  EXPECT_EQ(command.ended->output_error, 0);
  EXPECT_FALSE(command.ended->stopped);
  EXPECT_FALSE(command.ended->killed);
  EXPECT_EQ(command.ended->leftover_processes, 0);
  EXPECT_GE(command.started->unix_ns, before_ns);
  EXPECT_GE(command.ended->ended_unix_ns, command.started->unix_ns);
  EXPECT_LE(command.ended->ended_unix_ns, clock_.unix_ns());
  EXPECT_GT(command.ended->wall_ns, 0);
  EXPECT_EQ(command.events, 3);
}

TEST_F(SupervisorLauncherTest, ReportsTheSignalThatEndedIt) {
  Command& command = Run({"sh", "-c", "kill -SEGV $$"});
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGSEGV);
  EXPECT_EQ(command.ended->exit_code, std::nullopt);
  EXPECT_FALSE(command.ended->killed);
}

TEST_F(SupervisorLauncherTest, CountsTheWorkOfTheWholeTree) {
  Command& command = Run({"sh", "-c", kBin + "/flood 30000000 | cat > /dev/null"});
  ASSERT_TRUE(command.ended);
  const CommandEnded& ended = *command.ended;
  EXPECT_GT(ended.user_cpu_ns + ended.system_cpu_ns, 1'000'000);
  EXPECT_LT(ended.user_cpu_ns + ended.system_cpu_ns, 60'000'000'000);
  EXPECT_GT(ended.max_rss_bytes, 100 << 10);
  EXPECT_LT(ended.max_rss_bytes, 4LL << 30);
  EXPECT_GT(ended.voluntary_switches, 0);
}

TEST_F(SupervisorLauncherTest, StartsWithWhatTheRequestSaysAndNothingElse) {
  LaunchRequest request = Request({kBin + "/show_self", "", "\xff\xfe\n", "a b"});
  request.environment = {"B=1", "EMPTY=", "A=\x80", "B=2", "odd"};
  request.umask = 027;
  request.limits = {{RLIMIT_NOFILE, 50, 60}, {RLIMIT_CORE, 0, 0}};
  request.environment.push_back("KPROF_RUN_ID=somebody else's");
  request.output_folder = folder_ / "outputs";
  Command& command = Launch(request, "run-marker");
  WaitUntil([&] { return command.prepared > 0 || command.over(); }, "Prepared");
  command.launched->Go();
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  using List = std::vector<std::string>;
  const std::string out = command.Out();
  EXPECT_EQ(Facts(out, "arg"), (List{Hex(kBin + "/show_self"), "", "fffe0a", Hex("a b")}));
  EXPECT_EQ(Facts(out, "env"),
            (List{Hex("B=1"), Hex("EMPTY="), Hex("A=\x80"), Hex("B=2"), Hex("odd"), Hex("KPROF_RUN_ID=run-marker"),
                  Hex("KPROF_OUTPUT_DIR=" + std::string(folder_ / "outputs")),
                  Hex("KPROF_METRICS=/proc/" + std::to_string(command.started->pid) + "/fd/100")}));
  EXPECT_EQ(Facts(out, "fd"), (List{"0", "1", "2", "100"}));
  EXPECT_EQ(Facts(out, "stdin_bytes"), List{"0"});
  EXPECT_EQ(Facts(out, "umask"), List{"027"});
  EXPECT_EQ(Facts(out, "nofile"), List{"50 60"});
  EXPECT_EQ(Facts(out, "core"), List{"0 0"});
  EXPECT_EQ(Facts(out, "cwd"), List{folder_.path()});
  EXPECT_EQ(Facts(out, "leads_group"), List{"1"});
  EXPECT_EQ(Facts(out, "ignored"), List{});
  EXPECT_EQ(Facts(out, "blocked"), List{});
}

TEST_F(SupervisorLauncherTest, GivesTheCommandTheDescriptorLimitOfTheDaemon) {
  rlimit ours{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &ours), 0);
  Command& command = Run({kBin + "/show_self"});
  EXPECT_EQ(Facts(command.Out(), "nofile"),
            std::vector<std::string>{std::to_string(ours.rlim_cur) + " " + std::to_string(ours.rlim_max)});
}

TEST_F(SupervisorLauncherTest, TakesA64KibArgumentAndA1500KibEnvironment) {
  LaunchRequest request =
      Request({"/usr/bin/env", "sh", "-c", "printf %s \"$0\" | wc -c; env | wc -c", std::string(64 << 10, 'x')});
  for (int i = 0; i < 15; ++i)
    request.environment.push_back("V" + std::to_string(i) + "=" + std::string(100 << 10, 'y'));
  Command& command = Run(request);
  ASSERT_TRUE(command.ended) << (command.failed ? command.failed->ToString() : "lost");
  std::istringstream out(command.Out());
  int64_t argument_bytes = 0;
  int64_t environment_bytes = 0;
  out >> argument_bytes >> environment_bytes;
  EXPECT_EQ(argument_bytes, 64 << 10);
  EXPECT_GT(environment_bytes, 1500 << 10);
}

TEST_F(SupervisorLauncherTest, SaysThatAnArgumentIsTooLong) {
  Command& command = Run({"true", std::string(200 << 10, 'x')});
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_NE(command.failed->ToString().find("more than the kernel takes"), std::string::npos);
}

TEST_F(SupervisorLauncherTest, SaysThatTheProgramIsMissingBeforeGo) {
  Command& command = Launch(Request({"no-such-program"}));
  WaitUntil([&] { return command.over() || command.prepared > 0; }, "the failure");
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(command.failed->ToString(),
            "start 'no-such-program': no such program in PATH /usr/bin:/bin; check the name or give a path");
}

TEST_F(SupervisorLauncherTest, LooksTheProgramUpInTheRequestsOwnPath) {
  LaunchRequest request = Request({"show_self"});
  request.environment = {"PATH=/nowhere:" + kBin};
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(Facts(command.Out(), "arg"), std::vector<std::string>{Hex("show_self")});
}

TEST_F(SupervisorLauncherTest, SaysWhyAFileCannotBeExecuted) {
  auto write = [&](const std::string& name, const std::string& text, std::filesystem::perms mode) {
    std::ofstream(folder_ / name) << text;
    std::filesystem::permissions(folder_ / name, mode);
  };
  const auto executable = std::filesystem::perms::owner_all;
  write("plain", "#!/bin/sh\n", std::filesystem::perms::owner_read);
  write("no_first_line", "echo hello\n", executable);
  write("no_interpreter", "#!/no/such/interpreter\n", executable);
  const std::pair<std::string, std::string> cases[] = {
      {"./plain", "it may not be executed"},
      {"./no_first_line", "not a program of this machine"},
      {"./no_interpreter", "interpreter or loader"},
      {".", "it may not be executed"},
  };
  for (const auto& [program, why] : cases) {
    Command& command = Run({program == "." ? "./" : program});
    ASSERT_TRUE(command.failed) << program;
    EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed) << program;
    EXPECT_NE(command.failed->ToString().find(why), std::string::npos) << command.failed->ToString();
    EXPECT_FALSE(command.started) << program;
  }
}

TEST_F(SupervisorLauncherTest, SaysThatTheFolderIsMissing) {
  LaunchRequest request = Request({"true"});
  request.cwd = folder_ / "nowhere\xff";
  Command& command = Run(request);
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(command.failed->what(), "start in '" + folder_ / "nowhere\\xff'");
  EXPECT_EQ(command.prepared, 0);
}

// A thread's capabilities are its own, so also a test that root runs can start a supervisor that may not enter every
// folder.
TEST_F(SupervisorLauncherTest, SaysThatTheFolderMayNotBeEntered) {
  LaunchRequest request = Request({"true"});
  request.cwd = folder_ / "closed";
  std::filesystem::create_directory(request.cwd);
  std::filesystem::permissions(request.cwd, std::filesystem::perms::none);
  std::optional<Status> failed;
  std::thread without_rights([&] {
    for (int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    failed = Run(request).failed;
  });
  without_rights.join();
  std::filesystem::permissions(request.cwd, std::filesystem::perms::owner_all);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(failed->why(), "permission denied");
}

TEST_F(SupervisorLauncherTest, TakesAHardLimitThatCannotBeRaisedAsFarAsItGoes) {
  LaunchRequest request = Request({kBin + "/show_self"});
  std::string out;
  std::thread without_rights([&] {
    ::prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0);
    rlimit ours{};
    ::getrlimit(RLIMIT_NOFILE, &ours);
    request.limits = {{RLIMIT_NOFILE, ours.rlim_max + 10, ours.rlim_max + 10}};
    out = Run(request).Out();
    request.argv = {"true"};
  });
  without_rights.join();
  rlimit ours{};
  ::getrlimit(RLIMIT_NOFILE, &ours);
  EXPECT_EQ(Facts(out, "nofile"),
            std::vector<std::string>{std::to_string(ours.rlim_max) + " " + std::to_string(ours.rlim_max)});
}

TEST_F(SupervisorLauncherTest, SaysThatALimitMakesNoSense) {
  LaunchRequest request = Request({"true"});
  request.limits = {{9999, 1, 1}};
  Command& command = Run(request);
  ASSERT_TRUE(command.failed);
  EXPECT_NE(command.failed->ToString().find("set its resource limits"), std::string::npos);
}

TEST_F(SupervisorLauncherTest, RefusesARequestThatMakesNoSense) {
  LaunchRequest request = Request({"true"});
  request.cwd = "here";
  auto launched = launcher_->Launch(request, LaunchAs{}, "run", {}, {});
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.status().code(), ErrorCode::kUsage);
  EXPECT_EQ(launcher_->supervisors(), 0);
}

TEST_F(SupervisorLauncherTest, SaysWhatOthersUsedOfTheProcessors) {
  if (!ReadHostCpu()) GTEST_SKIP() << "this kernel does not tell";
  std::atomic<bool> over = false;
  std::thread neighbour([&] {
    while (!over) {
    }
  });
  Command& command = Run({"sleep", "0.5"});
  over = true;
  neighbour.join();
  ASSERT_TRUE(command.ended);
  EXPECT_GT(command.ended->host_cpus, 0);
  EXPECT_GE(command.ended->host_wall_ns, command.ended->wall_ns);
  // However busy the machine, a processor on which somebody always wants to run is busy.
  EXPECT_GT(command.ended->others_cpu_ns, 100 * kNanosPerMilli);
  Command& brief = Run({"true"});
  ASSERT_TRUE(brief.ended);
  EXPECT_TRUE(brief.ended->host_cpus == 0 || brief.ended->host_wall_ns >= 100 * kNanosPerMilli);
}

TEST_F(SupervisorLauncherTest, KeepsManyCommandsApart) {
  std::vector<Command*> commands;
  for (int i = 0; i < 20; ++i)
    commands.push_back(&Launch(Request({"sh", "-c", "echo " + std::to_string(i) + "; exit " + std::to_string(i)})));
  for (Command* command : commands) {
    WaitUntil([&] { return command->prepared > 0; }, "Prepared");
    command->launched->Go();
  }
  for (int i = 0; i < 20; ++i) {
    WaitUntil([&] { return commands[static_cast<size_t>(i)]->over(); }, "the end");
    ASSERT_TRUE(commands[static_cast<size_t>(i)]->ended);
    EXPECT_EQ(commands[static_cast<size_t>(i)]->ended->exit_code, i);
    EXPECT_EQ(commands[static_cast<size_t>(i)]->Out(), std::to_string(i) + "\n");
  }
}

TEST(KprofLaunch, SaysThatItIsNotForPeople) {
  const std::string program = kBin + "/kprof-launch 2>&1 3>&-";
  FILE* output = ::popen(program.c_str(), "r");
  ASSERT_NE(output, nullptr);
  char line[200] = "";
  EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
  EXPECT_NE(std::string(line).find("not by hand; use kprofctl capture"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(::pclose(output)), 2);
}

}  // namespace
}  // namespace kprof
