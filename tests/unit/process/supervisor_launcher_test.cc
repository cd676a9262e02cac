// The real kprof-launch, real processes, the real clock. Nothing here sleeps: each wait is for an event, with a limit.
#include "daemon/process/supervisor_launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>
#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "daemon/process/host_cpu.h"
#include "daemon/process/output_log.h"
#include "daemon/process/output_log_writer.h"
#include "daemon/process/process_sweep.h"
#include "tests/programs/flood_pattern.h"

namespace kprof {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // sanitizers on a busy machine
const std::string kBin = KPROF_BIN_DIR;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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

// Waits for its end; true at once when there is none.
bool WaitGone(pid_t pid) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return errno == ESRCH;
  pollfd wait{pidfd.get(), POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 1;
}

pid_t ParentOf(pid_t pid) {
  for (const ProcessRow& row : ReadProcessTable()) {
    if (row.pid == pid) return row.parent;
  }
  return -1;
}

// Not just any number: kill takes -1 for everybody.
void Kill(pid_t pid, int signal = SIGKILL) {
  ASSERT_GT(pid, 1);
  ASSERT_NE(pid, ::getpid());
  ::kill(pid, signal);
}

// One launch and all that was heard of it.
struct Command {
  std::string folder;
  UniqueFd stdout_log;
  UniqueFd stderr_log;
  UniqueFd progress;
  std::unique_ptr<Launched> launched;

  int prepared = 0;
  std::optional<CommandStarted> started;
  std::optional<Status> failed;
  std::optional<CommandEnded> ended;
  std::optional<Status> lost;
  int events = 0;
  bool over() const { return failed || ended || lost; }

  std::string OutPath() const { return folder + "/stdout.log"; }
  std::string ErrPath() const { return folder + "/stderr.log"; }
  std::string ProgressPath() const { return folder + "/output.progress"; }
  std::string Out() const { return ReadFile(OutPath()); }
  std::string Err() const { return ReadFile(ErrPath()); }
  // fork_escape says "escaped <pid>".
  pid_t EscapedPid() const { return std::atoi(Out().substr(Out().find(' ')).c_str()); }
};

class SupervisorLauncherTest : public testing::Test {
 protected:
  SupervisorLauncherTest() {
    std::string folder = testing::TempDir() + "launcher_XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    launcher_.emplace(loop_, *pool_, *OpenSupervisorProgram(kBin + "/kprof-launch"));
  }

  ~SupervisorLauncherTest() override {
    commands_.clear();
    if (launcher_) WaitUntil([&] { return launcher_->supervisors() == 0; }, "supervisors to end");
    launcher_.reset();
    pool_.reset();
    // Whatever went wrong above, nothing of ours stays.
    KillAll([] { return FindDescendants(::getpid()); });
    std::filesystem::remove_all(folder_);
  }

  bool WaitUntil(const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      loop_.context().run_one_until(deadline);
      if (std::chrono::steady_clock::now() >= deadline) {
        ADD_FAILURE() << "waited in vain for " << what;
        return false;
      }
    }
    return true;
  }

  std::string SupervisorPath() const { return folder_ + "/kprof-launch"; }

  static void WriteProgram(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }

  // From here on these bytes are kprof-launch.
  void UseSupervisor(const std::string& bytes) {
    WriteProgram(SupervisorPath(), bytes);
    launcher_.reset();
    // Its last sweep ends first: that knows the children of its own launcher alone. The daemon has one for its whole
    // life.
    pool_.reset();
    pool_.emplace(WorkerPool::Options{.threads = 1});
    launcher_.emplace(loop_, *pool_, *OpenSupervisorProgram(SupervisorPath()));
  }

  OutputFiles NoOutput() const { return {null_.get(), null_.get(), null_.get()}; }

  LaunchRequest Request(std::vector<std::string> argv) {
    LaunchRequest request;
    request.argv = std::move(argv);
    request.environment = {"PATH=/usr/bin:/bin"};
    request.cwd = folder_;
    return request;
  }

  Command& Launch(const LaunchRequest& request, const std::string& marker = "") {
    auto& command = *commands_.emplace_back(std::make_unique<Command>());
    command.folder = folder_ + "/" + std::to_string(commands_.size());
    std::filesystem::create_directory(command.folder);
    auto create = [](const std::string& path) {
      return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    command.stdout_log = create(command.OutPath());
    command.stderr_log = create(command.ErrPath());
    command.progress = create(command.ProgressPath());
    LaunchEvents events;
    events.prepared = [&command] {
      ++command.events;
      ++command.prepared;
    };
    events.started = [&command](const CommandStarted& started) {
      ++command.events;
      command.started = started;
    };
    events.failed = [&command](const Status& status) {
      ++command.events;
      command.failed = status;
    };
    events.ended = [&command](const CommandEnded& ended) {
      ++command.events;
      command.ended = ended;
    };
    events.lost = [&command](const Status& status) {
      ++command.events;
      command.lost = status;
    };
    auto launched = launcher_->Launch(
        request, marker.empty() ? "run-" + std::to_string(::getpid()) + "-" + std::to_string(commands_.size()) : marker,
        {command.stdout_log.get(), command.stderr_log.get(), command.progress.get()}, std::move(events));
    EXPECT_TRUE(launched.ok()) << launched.status().ToString();
    if (launched.ok()) command.launched = *std::move(launched);
    EXPECT_EQ(command.events, 0);  // never from inside the call
    return command;
  }

  // Up to Started, or to a failure.
  Command& Start(const LaunchRequest& request) {
    Command& command = Launch(request);
    WaitUntil([&] { return command.prepared > 0 || command.over(); }, "Prepared");
    command.launched->Go();
    WaitUntil([&] { return command.started || command.over(); }, "Started");
    return command;
  }
  Command& Start(std::vector<std::string> argv) { return Start(Request(std::move(argv))); }

  Command& Run(const LaunchRequest& request) {
    Command& command = Start(request);
    WaitUntil([&] { return command.over(); }, "the end");
    return command;
  }
  Command& Run(std::vector<std::string> argv) { return Run(Request(std::move(argv))); }

  void WaitForOutput(const Command& command, const std::string& text) {
    // A live log has no event; the file is looked at between short waits on the loop.
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (command.Out().find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
      loop_.context().run_one_for(std::chrono::milliseconds(1));
    }
    ASSERT_NE(command.Out().find(text), std::string::npos);
  }

  RealClock clock_;
  IoLoop loop_{clock_};
  std::optional<WorkerPool> pool_{std::in_place, WorkerPool::Options{.threads = 1}};
  std::optional<SupervisorLauncher> launcher_;
  std::string folder_;
  const UniqueFd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  std::vector<std::unique_ptr<Command>> commands_;
};

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
            (List{Hex("B=1"), Hex("EMPTY="), Hex("A=\x80"), Hex("B=2"), Hex("odd"), Hex("KPROF_RUN_ID=run-marker")}));
  EXPECT_EQ(Facts(out, "fd"), (List{"0", "1", "2"}));
  EXPECT_EQ(Facts(out, "stdin_bytes"), List{"0"});
  EXPECT_EQ(Facts(out, "umask"), List{"027"});
  EXPECT_EQ(Facts(out, "nofile"), List{"50 60"});
  EXPECT_EQ(Facts(out, "core"), List{"0 0"});
  EXPECT_EQ(Facts(out, "cwd"), List{std::filesystem::canonical(folder_).string()});
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
    std::ofstream(folder_ + "/" + name) << text;
    std::filesystem::permissions(folder_ + "/" + name, mode);
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
  request.cwd = folder_ + "/nowhere\xff";
  Command& command = Run(request);
  ASSERT_TRUE(command.failed);
  EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
  EXPECT_EQ(command.failed->what(), "start in '" + folder_ + "/nowhere\\xff'");
  EXPECT_EQ(command.prepared, 0);
}

// A thread's capabilities are its own, so also a test that root runs can start a supervisor that may not enter every
// folder.
TEST_F(SupervisorLauncherTest, SaysThatTheFolderMayNotBeEntered) {
  LaunchRequest request = Request({"true"});
  request.cwd = folder_ + "/closed";
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
  LaunchRequest request = Request({});
  auto launched = launcher_->Launch(request, "run", {}, {});
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.status().code(), ErrorCode::kUsage);
  EXPECT_EQ(launcher_->supervisors(), 0);
}

TEST_F(SupervisorLauncherTest, SaysThatTheSupervisorIsMissing) {
  auto program = OpenSupervisorProgram("/no/such/kprof-launch");
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.status().code(), ErrorCode::kUsage);
  EXPECT_NE(program.status().ToString().find("there is no program /no/such/kprof-launch"), std::string::npos);
}

TEST_F(SupervisorLauncherTest, SaysThatTheSupervisorIsNoProgramOfThisMachine) {
  UseSupervisor("no program");
  auto launched = launcher_->Launch(Request({"true"}), "run", NoOutput(), {});
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
    Command& command = Launch(Request({"touch", folder_ + "/executed"}));
    WaitUntil([&] { return command.over(); }, "the refusal");
    ASSERT_TRUE(command.failed) << script;
    EXPECT_EQ(command.failed->ToString(),
              "start 'touch': kprofd and kprof-launch are of different builds; restart kprofd");
    EXPECT_EQ(command.failed->code(), ErrorCode::kSpawnFailed);
    EXPECT_EQ(command.events, 1) << script;
    WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
    EXPECT_EQ(command.events, 1) << script;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/executed"));
}

TEST_F(SupervisorLauncherTest, IsRefusedByASupervisorOfAnotherBuild) {
  const LaunchRequest request = Request({"touch", folder_ + "/executed"});
  const std::string prepare = FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(request));
  for (const std::string& hello : {std::string(), HelloFrame(kLaunchProtocolVersion + 1)}) {
    auto spawned =
        SpawnSupervisor(*OpenSupervisorProgram(kBin + "/kprof-launch"), NoOutput(), launcher_->own_children());
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
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/executed"));
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

TEST_F(SupervisorLauncherTest, ExecutesNothingBeforeGo) {
  Command& command = Launch(Request({"touch", folder_ + "/executed"}));
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  command.launched.reset();
  WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/executed"));
  EXPECT_EQ(command.events, 1);
}

TEST_F(SupervisorLauncherTest, EndsWhenItsChannelClosesInTheMiddleOfTheRequest) {
  LaunchRequest request = Request({"touch", folder_ + "/executed"});
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
  Command& command = Launch(Request({"touch", folder_ + "/executed"}));
  command.launched->Stop(60'000);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_FALSE(command.started);
  EXPECT_TRUE(command.ended->stopped);
  EXPECT_EQ(command.ended->wall_ns, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/executed"));
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
                                       folder_ + "/1/stdout.log; do sleep 0.01; done"});
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
    launched = *launcher_->Launch(Request({"true"}), "run", {null.get(), null.get(), null.get()}, heard);
    WaitUntil([&] { return launcher_->supervisors() == 0; }, "the supervisor to end");
    EXPECT_EQ(events, at);
  }
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
  EXPECT_NE(command.lost->ToString().find("killed by signal 9"), std::string::npos);
  // Gone and reaped by the time the event comes.
  EXPECT_EQ(ParentOf(command.started->pid), -1);
  EXPECT_EQ(ParentOf(escaped), -1);
  EXPECT_FALSE(other.over());
  EXPECT_EQ(::kill(other.started->pid, 0), 0);
  EXPECT_NE(ParentOf(other.started->pid), ::getpid());
}

TEST_F(SupervisorLauncherTest, ReportsASupervisorLostThatIsKilledBeforeGo) {
  Command& command = Launch(Request({"touch", folder_ + "/executed"}));
  WaitUntil([&] { return command.prepared > 0; }, "Prepared");
  std::vector<pid_t> tree = FindDescendants(::getpid());  // the child that waits for Go, and its supervisor
  ASSERT_EQ(tree.size(), 2u);
  Kill(tree[1]);
  WaitUntil([&] { return command.over(); }, "lost");
  EXPECT_TRUE(command.lost);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/executed"));
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
                                       folder_ + "/1/stdout.log; do sleep 0.01; done"});
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

TEST_F(SupervisorLauncherTest, KeepsHeadAndTailOfAFlood) {
  constexpr int64_t kPrinted = 1'000'000'000;
  LaunchRequest request = Request({kBin + "/flood", std::to_string(kPrinted)});
  request.output_head_bytes = 1 << 20;
  request.output_tail_bytes = 2 << 20;
  Command& command = Run(request);
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_bytes, kPrinted);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, kPrinted - (3 << 20));
  EXPECT_LE(std::filesystem::file_size(command.OutPath()), 3u << 20);
  auto files = MakePosixFiles();
  auto finished = FinishOutput(*files, command.OutPath(), command.ProgressPath(), OutputStream::kStdout);
  ASSERT_TRUE(finished.ok());
  std::string expected;
  for (int64_t at = 0; at < 1 << 20; ++at) expected += FloodByte(at);
  expected += "\n[kprof: " + std::to_string(kPrinted - (3 << 20)) + " bytes dropped here]\n";
  for (int64_t at = kPrinted - (2 << 20); at < kPrinted; ++at) expected += FloodByte(at);
  EXPECT_TRUE(command.Out() == expected);  // not EXPECT_EQ: it would print megabytes
}

TEST_F(SupervisorLauncherTest, LetsAFloodBeReadLiveAndStopped) {
  LaunchRequest request = Request({kBin + "/flood", "1000000000000"});
  request.output_head_bytes = 100'000;
  request.output_tail_bytes = 300'000;
  Command& command = Start(request);
  auto files = MakePosixFiles();
  int64_t offset = 0;
  int64_t seen = 0;
  while (seen < 20'000'000) {
    auto piece =
        ReadLiveOutput(*files, command.OutPath(), command.ProgressPath(), OutputStream::kStdout, offset, 100'000);
    ASSERT_TRUE(piece.ok());
    int64_t at = piece->next_offset - static_cast<int64_t>(piece->bytes.size());
    ASSERT_EQ(at, offset + piece->dropped_bytes);
    for (char byte : piece->bytes) ASSERT_EQ(byte, FloodByte(at++));
    seen += static_cast<int64_t>(piece->bytes.size());
    offset = piece->next_offset;
  }
  command.launched->Stop(60'000);  // heard although the pipe is never empty
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->signal, SIGTERM);
}

TEST_F(SupervisorLauncherTest, LetsACommandGoOnWhenItsLogCannotBeWritten) {
  Command& command = *commands_.emplace_back(std::make_unique<Command>());
  UniqueFd full(::open("/dev/full", O_RDWR | O_CLOEXEC));
  LaunchEvents events;
  events.prepared = [&] { command.launched->Go(); };
  events.ended = [&](const CommandEnded& ended) { command.ended = ended; };
  command.launched =
      *launcher_->Launch(Request({kBin + "/flood", "1000000"}), "run", {full.get(), full.get(), full.get()}, events);
  WaitUntil([&] { return command.over(); }, "the end");
  ASSERT_TRUE(command.ended);
  EXPECT_EQ(command.ended->exit_code, 0);
  EXPECT_EQ(command.ended->stdout_bytes, 1'000'000);
  EXPECT_EQ(command.ended->stdout_dropped_bytes, 1'000'000);
  EXPECT_EQ(command.ended->output_error, ENOSPC);
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
  EXPECT_EQ(std::string(line), "kprof-launch is started by kprofd, not by hand; use kprofctl capture\n");
  EXPECT_EQ(WEXITSTATUS(::pclose(output)), 2);
}

}  // namespace
}  // namespace kprof
