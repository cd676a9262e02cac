// A SupervisorLauncher over the real kprof-launch, and commands started with it. Nothing here sleeps: each wait is for
// an event, with a limit. What a test left behind is ended with it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/launch/process_sweep.h"
#include "daemon/process/launchers/output_intake.h"
#include "daemon/process/launchers/supervisor_launcher.h"
#include "storage/base/packet_socket.h"
#include "tests/fakes/base/file_facts.h"
#include "tests/fakes/base/leaping_clock.h"
#include "tests/fakes/base/program_file.h"
#include "tests/fakes/base/temporary_folder.h"

namespace kprof {

inline constexpr auto kPatience = std::chrono::seconds(60);  // sanitizers on a busy machine
inline const std::string kBin = KPROF_BIN_DIR;

// Waits for its end; true at once when there is none.
inline bool WaitGone(pid_t pid) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return errno == ESRCH;
  pollfd wait{pidfd.get(), POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) == 1;
}

inline pid_t ParentOf(pid_t pid) {
  for (const ProcessRow& row : ReadProcessTable()) {
    if (row.pid == pid) return row.parent;
  }
  return -1;
}

// One launch and all that was heard of it.
struct Command {
  LaunchRequest request;
  std::string folder;
  std::string marker;
  UniqueFd stdout_log;
  UniqueFd stderr_log;
  UniqueFd progress;
  UniqueFd held;
  std::unique_ptr<OutputTaking> taking;  // of a supervisor that is not given the files
  std::unique_ptr<Launched> launched;

  int shares_cgroup = 0;
  int may_live_on = 0;
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
  SupervisorLauncherTest() { launcher_.emplace(loop_, *pool_, *OpenSupervisorProgram(kBin + "/kprof-launch")); }

  ~SupervisorLauncherTest() override {
    commands_.clear();
    if (launcher_) WaitUntil([&] { return launcher_->supervisors() == 0; }, "supervisors to end");
    launcher_.reset();
    pool_.reset();
    // Whatever went wrong above, nothing of ours stays.
    KillAll([] { return FindDescendants(::getpid()); });
  }

  // Looks again after each event of the loop, and now and then: of what other processes do the loop is not told.
  bool WaitUntil(const std::function<bool()>& condition, const char* what) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      loop_.context().run_one_for(std::chrono::milliseconds(20));
      if (std::chrono::steady_clock::now() >= deadline) {
        ADD_FAILURE() << "waited in vain for " << what;
        return false;
      }
    }
    return true;
  }

  // Time passes, and what was due happens.
  void Pass(int64_t seconds) {
    clock_.Leap(seconds * kNanosPerSecond);
    loop_.RunUntilIdle();
  }

  std::string SupervisorPath() const { return folder_ / "kprof-launch"; }

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
    request.cwd = folder_.path();
    return request;
  }

  // For fixtures of other launchers.
  virtual Launcher& Door() { return *launcher_; }
  virtual LaunchAs As() { return {}; }
  virtual void AfterLaunch(Command&) {}

  Command& Launch(const LaunchRequest& request, const std::string& marker = "") {
    auto& command = *commands_.emplace_back(std::make_unique<Command>());
    command.request = request;
    command.folder = folder_ / std::to_string(commands_.size());
    std::filesystem::create_directory(command.folder);
    auto create = [](const std::string& path) {
      return UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    };
    command.stdout_log = create(command.OutPath());
    command.stderr_log = create(command.ErrPath());
    command.progress = create(command.ProgressPath());
    command.held.Reset(::open(command.ProgressPath().c_str(), O_RDONLY | O_CLOEXEC));
    LaunchEvents events;
    events.shares_cgroup = [&command] { ++command.shares_cgroup; };
    events.may_live_on = [&command](const Status&) { ++command.may_live_on; };
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
    command.marker =
        marker.empty() ? "run-" + std::to_string(::getpid()) + "-" + std::to_string(commands_.size()) : marker;
    OutputFiles output{command.stdout_log.get(), command.stderr_log.get(), command.progress.get()};
    if (As().starter != RunStarter::kDaemon && !take_output_) {
      untaken_ = {*MakeSocketPair(SOCK_STREAM), *MakeSocketPair(SOCK_STREAM)};
      output = {.stdout_fd = untaken_[0].theirs.get(), .stderr_fd = untaken_[1].theirs.get()};
    } else if (As().starter != RunStarter::kDaemon) {
      command.taking = *intake_.Begin(output, {request.output_head_bytes, request.output_tail_bytes});
      output = command.taking->ends();
    }
    if (As().starter == RunStarter::kClient) output.held_fd = command.held.get();
    if (client_out_.theirs.valid()) output.client_stdout_fd = client_out_.theirs.get();
    if (client_err_.theirs.valid()) output.client_stderr_fd = client_err_.theirs.get();
    auto launched = Door().Launch(request, As(), command.marker, output, std::move(events));
    if (command.taking) command.taking->GaveEnds();
    client_out_.theirs.Reset();
    client_err_.theirs.Reset();
    EXPECT_TRUE(launched.ok()) << launched.status().ToString();
    if (launched.ok()) command.launched = *std::move(launched);
    EXPECT_EQ(command.events, 0);  // never from inside the call
    AfterLaunch(command);
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
    TakeLastOutput(command);
    return command;
  }
  Command& Run(std::vector<std::string> argv) { return Run(Request(std::move(argv))); }

  // As the daemon does before it looks at what was printed.
  void TakeLastOutput(Command& command) {
    if (!command.taking) return;
    bool taken = false;
    command.taking->Finish([&](int first_error) {
      EXPECT_EQ(first_error, 0);
      taken = true;
    });
    WaitUntil([&] { return taken; }, "the last output");
    command.taking.reset();
  }

  void WaitForOutput(const Command& command, const std::string& text) {
    // A live log has no event; the file is looked at between short waits on the loop.
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (command.Out().find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline) {
      loop_.context().run_one_for(std::chrono::milliseconds(1));
    }
    ASSERT_NE(command.Out().find(text), std::string::npos);
  }

  const TemporaryFolder folder_{TemporaryFolder::Holds::kPrograms};
  LeapingClock clock_;
  IoLoop loop_{clock_};
  OutputIntake intake_{loop_, loop_};
  bool take_output_ = true;  // false: nobody reads what a client's supervisor sends
  std::array<SocketPair, 2> untaken_;
  SocketPair client_out_;  // of the next launch's client, where there is one
  SocketPair client_err_;
  std::optional<WorkerPool> pool_{std::in_place, WorkerPool::Options{.threads = 1}};
  std::optional<SupervisorLauncher> launcher_;
  const UniqueFd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace kprof
