#include "daemon/process/launchers/child_supervisor.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/launch/process_table.h"
#include "daemon/process/launchers/supervisor_channel.h"
#include "storage/base/environment.h"

namespace kprof {
namespace {

// 10 s at most for what hangs in the kernel: 200 ms a kill round.
constexpr int kSweepRounds = 10;
constexpr int kKillRounds = 5;
constexpr int64_t kRetryNs = 100 * kNanosPerMilli;
constexpr int64_t kLookNs = 5 * kNanosPerSecond;

}  // namespace

void AdoptedProcesses::Sweep(const std::string& marker, uint64_t since_ticks, std::function<void(const Status&)> done) {
  // Moved on to the loop at the end: nothing of `done` or of this is destroyed on the worker.
  auto job = [self = shared_from_this(), marker, since_ticks, done]() mutable {
    auto is_own = [&](const ProcessRow& row) { return self->IsOwn(row, since_ticks); };
    auto find = [&] {
      std::vector<pid_t> found = FindMarkedProcesses([&](const std::string& id) { return id == marker; });
      // A supervisor that hangs in the kernel is waited for, and reaped, by its link.
      std::erase_if(found, [&](pid_t pid) { return self->own_.Has(pid); });
      for (pid_t orphan : FindOrphans(::getpid(), is_own)) {
        if (std::find(found.begin(), found.end(), orphan) == found.end()) found.push_back(orphan);
      }
      return found;
    };
    int killed = 0;
    bool some_left = true;
    for (int round = 0; some_left && round < kSweepRounds; ++round) {
      const KilledChildren at_sight = KillChildrenAtSight(is_own);
      killed += static_cast<int>(at_sight.hit.size());
      killed += KillAll(find, kKillRounds);
      ReapOrphans(is_own);
      some_left = !at_sight.none_left || !FindOrphans(::getpid(), is_own).empty();
    }
    const size_t left = find().size();
    LogInfo("swept what kprof-launch left",
            {{"run", marker}, {"killed", std::to_string(killed)}, {"left", std::to_string(left)}});
    IoLoop& loop = self->loop_;
    loop.Post([self = std::move(self), since_ticks, some_left, left, done = std::move(done)] {
      if (some_left) self->Watch(since_ticks);
      done(left == 0 ? OkStatus()
                     : Fail(ErrorCode::kCommandFailed, "end what kprof-launch left",
                            std::to_string(left) + " of its processes could not be ended"));
    });
  };
  if (pool_.Submit(std::move(job)).ok()) return;
  // The pool is full. A timer per sweep, kept by its own task.
  auto timer = std::make_shared<IoLoop::Timer>();
  *timer = loop_.After(kRetryNs, [self = shared_from_this(), timer, marker, since_ticks, done] {
    self->Sweep(marker, since_ticks, done);
  });
}

void AdoptedProcesses::Watch(uint64_t since_ticks) {
  since_ticks_ = since_ticks_ == 0 ? since_ticks : std::min(since_ticks_, since_ticks);
  if (closed_ || looking_ || next_look_.pending()) return;
  next_look_ = loop_.After(kLookNs, [this] { Look(); });
}

void AdoptedProcesses::Look() {
  const uint64_t since_ticks = std::exchange(since_ticks_, 0);
  looking_ = true;
  auto job = [self = shared_from_this(), since_ticks]() mutable {
    auto is_own = [&](const ProcessRow& row) { return self->IsOwn(row, since_ticks); };
    ReapOrphans(is_own);
    bool some_left = !FindOrphans(::getpid(), is_own).empty();
    IoLoop& loop = self->loop_;
    loop.Post([self = std::move(self), since_ticks, some_left] {
      self->looking_ = false;
      if (some_left) {
        self->Watch(since_ticks);
      } else if (self->since_ticks_ != 0) {
        self->Watch(self->since_ticks_);
      }
    });
  };
  if (pool_.Submit(std::move(job)).ok()) return;
  looking_ = false;
  Watch(since_ticks);
}

void AdoptedProcesses::Close() {
  closed_ = true;
  next_look_.Cancel();
}

namespace {

constexpr int kSupervisorProgramFd = kFirstFreeFd;  // the first that kprof-launch closes
constexpr const char* kProgramFdPath = "/proc/self/fd/6";
static_assert(kSupervisorProgramFd == 6);

std::vector<std::string> OwnEnvironmentWith(const std::vector<std::string>& marks) {
  std::vector<std::string> environment;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  for (const std::string& mark : marks) SetVariable(environment, mark);
  return environment;
}

// posix_spawn is a vfork: nothing of this process is copied, and no code of ours runs in the child.
// Returns errno.
int SpawnProcess(const SupervisorProgram& program, std::vector<std::string>& environment, int control_fd,
                 const OutputFiles& files, pid_t& pid) {
  // Above the numbers that they get in the child, so that none overwrites another.
  const bool passes_output = files.client_stdout_fd >= 0;
  UniqueFd client_out;
  UniqueFd client_err;
  if (passes_output) {
    client_out = DuplicateFrom(files.client_stdout_fd, kSupervisorProgramFd + 1);
    client_err = DuplicateFrom(files.client_stderr_fd, kSupervisorProgramFd + 1);
    if (!client_out.valid() || !client_err.valid()) return errno;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, control_fd, kChannelFd);
  if (passes_output) {
    posix_spawn_file_actions_adddup2(&actions, client_out.get(), kClientStdoutFd);
    posix_spawn_file_actions_adddup2(&actions, client_err.get(), kClientStderrFd);
  }
  posix_spawn_file_actions_adddup2(&actions, program.fd.get(), kSupervisorProgramFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSupervisorProgramFd + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  // A group of its own: Ctrl-C at the daemon's terminal is not meant for what runs under it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string name = program.path.substr(program.path.rfind('/') + 1);
  std::string pass_output = "--pass-output";
  char* argv[] = {name.data(), passes_output ? pass_output.data() : nullptr, nullptr};
  std::vector<char*> variables;
  variables.reserve(environment.size() + 1);
  for (std::string& variable : environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  int error = ::posix_spawn(&pid, kProgramFdPath, &actions, &attributes, argv, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<SupervisorProgram> OpenSupervisorProgram(const std::string& path) {
  const char* remedy = "install kprof-launch beside kprofd, or name it with 'launcher' in the configuration";
  UniqueFd opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!opened.valid() || ::access(path.c_str(), X_OK) != 0) {
    return Fail(ErrorCode::kUsage, "find the supervisor", "there is no program " + path, remedy);
  }
  // Above the numbers that it and the socket get in the child, so that neither overwrites the other.
  UniqueFd fd = DuplicateFrom(opened.get(), kSupervisorProgramFd + 1);
  if (!fd.valid()) return FailErrno(errno, "hold the supervisor " + path, "raise the limit of open files");
  return SupervisorProgram{path, std::move(fd)};
}

Result<SpawnedSupervisor> SpawnSupervisor(const SupervisorProgram& program, const std::vector<std::string>& marks,
                                          const OutputFiles& files, OwnChildren& own) {
  const std::string what = "start the supervisor " + program.path;
  auto fail = [&](const Status& why) {
    return Status(ErrorCode::kSpawnFailed, what, why.why(),
                  "check that kprof is installed whole, and the limits of processes and open files");
  };
  Result<SocketPair> ends = MakeLaunchSockets(files);
  if (!ends.ok()) return fail(ends.status());
  const uint64_t start_ticks = StartTicksNow();
  std::vector<std::string> environment = OwnEnvironmentWith(marks);
  int spawn_error = 0;
  pid_t pid = own.Add([&]() -> pid_t {
    pid_t spawned = -1;
    spawn_error = SpawnProcess(program, environment, ends->theirs.get(), files, spawned);
    return spawn_error == 0 ? spawned : -1;
  });
  if (pid < 0) return fail(FailErrno(spawn_error, what));
  return SpawnedSupervisor{std::move(ends->ours), pid, start_ticks};
}

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// From KILL to death. What takes longer hangs in the kernel.
constexpr int64_t kDeathLimitNs = 5 * kNanosPerSecond;

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "it was killed by signal " + std::to_string(WTERMSIG(wait_status));
  return "it ended with status " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

ChildSupervisor::ChildSupervisor(IoLoop& loop, std::shared_ptr<AdoptedProcesses> adopted,
                                 std::shared_ptr<NotReaped> not_reaped)
    : loop_(loop), adopted_(std::move(adopted)), not_reaped_(std::move(not_reaped)), exit_(loop.context()) {}

Status ChildSupervisor::Begin(SpawnedSupervisor spawned, LaunchSubject subject, const std::string& marker,
                              LaunchEvents events, std::string first_frames) {
  pid_ = spawned.pid;
  start_ticks_ = spawned.start_ticks;
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd.valid()) return FailErrno(errno, "watch the supervisor", "Linux 5.3 or newer is needed");
  error_code error;
  exit_.assign(pidfd.get(), error);
  if (error) return FailErrno(error.value(), "watch the supervisor");
  pidfd.Release();
  channel_ = std::make_shared<SupervisorChannel>(
      loop_, std::move(subject), marker, std::move(events),
      [self = shared_from_this()](SupervisorChannel::Why why) { self->OnChannelEnd(why); });
  Status begun = channel_->Begin(std::move(spawned.channel), std::move(first_frames));
  if (!begun.ok()) {
    channel_.reset();  // it holds us
    exit_.close(error);
    return begun;
  }
  channel_->ExpectPrepared();
  not_reaped_->insert(this);
  exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
    if (!error) self->OnExit();
  });
  return OkStatus();
}

void ChildSupervisor::Abandon() {
  channel_->Forget();
  if (!channel_->open()) return;
  channel_->Close();
  ExpectExit();
}

void ChildSupervisor::OnChannelEnd(SupervisorChannel::Why why) {
  if (why == SupervisorChannel::Why::kEnd) return ExpectExit();
  LogError("killing kprof-launch", {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}});
  Kill();
}

void ChildSupervisor::ExpectExit() {
  exit_limit_ = loop_.After(kSupervisorEndLimitNs, [this] {
    LogError("kprof-launch does not end; killing it", {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}});
    Kill();
  });
}

// What hangs in the kernel dies when it comes out of it, before it does anything else; nobody waits for that.
void ChildSupervisor::Kill() {
  ::kill(pid_, SIGKILL);
  exit_limit_ = loop_.After(kDeathLimitNs, [this] {
    LogError("kprof-launch hangs in the kernel", {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}});
    if (channel_->over()) return;
    const Status why =
        channel_->silent().value_or(Fail(ErrorCode::kCommandFailed, "supervise '" + channel_->subject().program + "'",
                                         "kprof-launch closed its channel", "run it again"));
    SweepAndTell(
        Status(why.code(), why.what(), why.why() + "; it hangs in the kernel and cannot be ended yet", why.remedy()),
        "");
  });
}

void ChildSupervisor::OnExit() {
  channel_->TakeReceived();  // all that it said before is there by now
  channel_->Close();
  exit_limit_.Cancel();
  int wait_status = 0;
  while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {  // it has ended: does not wait
  }
  adopted_->own().Remove(pid_);
  not_reaped_->erase(this);
  error_code ignored;
  exit_.close(ignored);
  const bool left_some = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLaunchTreeLeft;
  if (left_some) adopted_->Watch(start_ticks_);
  const bool tree_gone = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLaunchTreeGone;
  const std::optional<Status>& silent = channel_->silent();
  // One from before Hello goes without a word.
  if (!channel_->over() && !silent && tree_gone && !channel_->greeted()) channel_->TellOtherBuilds();
  if (channel_->over() && !silent && (tree_gone || left_some)) return;
  LogWarning("kprof-launch died",
             {{"run", channel_->marker()}, {"pid", std::to_string(pid_)}, {"how", HowItEnded(wait_status)}});
  if (silent) return SweepAndTell(*silent, "; it and its processes have been ended");
  SweepAndTell(Fail(ErrorCode::kCommandFailed, "supervise '" + channel_->subject().program + "'",
                    "kprof-launch died: " + HowItEnded(wait_status),
                    "look in the kernel's log for a lack of memory, then run it again"),
               "; its processes have been ended");
}

void ChildSupervisor::SweepAndTell(const Status& last, const std::string& if_ended) {
  auto tell = [self = shared_from_this(), last, if_ended](const Status& all_ended) {
    if (!all_ended.ok()) self->channel_->TellMayLiveOn(all_ended);
    const std::string more = all_ended.ok() ? if_ended : "; " + all_ended.why();
    self->channel_->TellLast(Status(last.code(), last.what(), last.why() + more, last.remedy()));
  };
  adopted_->Sweep(channel_->marker(), start_ticks_, tell);
}

}  // namespace kprof
