#include "daemon/process/supervisor_launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/process/launch_error.h"
#include "daemon/process/process_sweep.h"
#include "storage/base/unique_fd.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr int kSupervisorControlFd = 3;
// A supervisor whose work is over gives up on what it cannot kill after 10 s.
constexpr int64_t kExitLimitNs = 20 * kNanosPerSecond;
// 10 s at most for what hangs in the kernel: 200 ms a kill round.
constexpr int kSweepRounds = 10;
constexpr int kKillRounds = 5;
constexpr int64_t kRetryNs = 100 * kNanosPerMilli;
constexpr int64_t kAdoptedLookNs = 5 * kNanosPerSecond;

// posix_spawn is a vfork: nothing of this process is copied, and no code of ours runs in the child.
// Returns errno.
int SpawnSupervisor(const std::string& program, int control_fd, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, control_fd, kSupervisorControlFd);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSupervisorControlFd + 1);
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
  std::string name = program.substr(program.rfind('/') + 1);
  char* argv[] = {name.data(), nullptr};
  int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// The first byte, with the files. Returns errno.
int SendFiles(int socket, const OutputFiles& files) {
  const std::array<int, 3> fds = {files.stdout_fd, files.stderr_fd, files.progress_fd};
  char hello = 0;
  iovec piece{&hello, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(part), fds.data(), sizeof fds);
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : errno;
}

std::string HowItEnded(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "it was killed by signal " + std::to_string(WTERMSIG(wait_status));
  return "it ended with status " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

struct SupervisorLauncher::Shared : std::enable_shared_from_this<Shared> {
  Shared(IoLoop& loop, WorkerPool& pool, std::string program) : loop(loop), pool(pool), program(std::move(program)) {}

  // Whether a child of ours is none of those that a supervisor left which was started at `since_ticks`.
  bool IsOwn(const ProcessRow& row, uint64_t since_ticks) const {
    return row.start_ticks < since_ticks || own.Has(row.pid);
  }

  void Sweep(const std::string& marker, uint64_t since_ticks, std::function<void()> done);
  void WatchAdopted(uint64_t since_ticks);
  void LookAtAdopted();

  IoLoop& loop;
  WorkerPool& pool;
  const std::string program;
  OwnChildren own;

  // Io loop only.
  std::set<Supervised*> supervised;  // not reaped yet; they keep themselves alive until then
  uint64_t adopted_since_ticks = 0;  // 0: nobody is watched
  bool looking_at_adopted = false;
  bool closed = false;
  IoLoop::Timer next_look;
};

// One supervisor, from spawn until it has been reaped. Kept by its handlers: one waits for its end all the time.
class SupervisorLauncher::Supervised : public std::enable_shared_from_this<Supervised> {
 public:
  Supervised(std::shared_ptr<Shared> shared, LaunchSubject subject, std::string marker, LaunchEvents events)
      : shared_(std::move(shared)),
        subject_(std::move(subject)),
        marker_(std::move(marker)),
        events_(std::move(events)),
        channel_(shared_->loop.context()),
        exit_(shared_->loop.context()) {}

  Status Begin(UniqueFd channel, pid_t pid, uint64_t start_ticks, std::string first_frame) {
    pid_ = pid;
    start_ticks_ = start_ticks;
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd.valid()) return FailErrno(errno, "watch the supervisor", "Linux 5.3 or newer is needed");
    error_code error;
    channel_.assign(asio::local::stream_protocol(), channel.get(), error);
    if (!error) {
      channel.Release();
      channel_.non_blocking(true, error);
    }
    if (!error) exit_.assign(pidfd.get(), error);
    if (error) return FailErrno(error.value(), "watch the supervisor");
    pidfd.Release();
    shared_->supervised.insert(this);
    exit_.async_wait(asio::posix::stream_descriptor::wait_read, [self = shared_from_this()](const error_code& error) {
      if (!error) self->OnExit();
    });
    Send(std::move(first_frame));
    Receive();
    return OkStatus();
  }

  void Send(std::string frame) {
    if (!channel_.is_open()) return;
    outbox_ += frame;
    if (!sending_) SendMore();
  }

  // Closes the channel, upon which the supervisor ends its tree and itself.
  void Abandon() {
    over_ = true;
    events_ = LaunchEvents();
    CloseChannel();
  }

 private:
  void SendMore() {
    error_code error;
    while (!outbox_.empty()) {
      size_t sent = channel_.write_some(asio::buffer(outbox_), error);
      outbox_.erase(0, sent);
      if (error) break;
    }
    sending_ = false;
    if (outbox_.empty()) outbox_.shrink_to_fit();
    if (error != asio::error::would_block) return;  // done, or gone: then its end is on the way
    sending_ = true;
    channel_.async_wait(asio::local::stream_protocol::socket::wait_write,
                        [self = shared_from_this()](const error_code& error) {
                          if (!error) self->SendMore();
                        });
  }

  void Receive() {
    channel_.async_wait(asio::local::stream_protocol::socket::wait_read,
                        [self = shared_from_this()](const error_code& error) {
                          if (!error && self->TakeReceived()) self->Receive();
                        });
  }

  // Takes all that is there; returns whether more may come.
  bool TakeReceived() {
    while (channel_.is_open()) {
      std::array<char, 4096> bytes;
      error_code error;
      size_t size = channel_.read_some(asio::buffer(bytes), error);
      if (error == asio::error::would_block) return true;
      if (error) {
        CloseChannel();
        return false;
      }
      frames_.Add(std::string_view(bytes.data(), size));
      TakeFrames();
    }
    return false;
  }

  void TakeFrames() {
    while (channel_.is_open()) {
      Result<std::optional<FrameReader::Frame>> frame = frames_.Next();
      if (frame.ok() && !frame->has_value()) return;
      if (!frame.ok() || !Take(**frame)) {
        // Whoever speaks nonsense does not supervise.
        LogError("kprof-launch speaks another protocol", {{"run", marker_}, {"pid", std::to_string(pid_)}});
        CloseChannel();
        ::kill(pid_, SIGKILL);
        return;
      }
    }
  }

  bool Take(const FrameReader::Frame& frame) {
    switch (frame.type) {
      case LaunchMessage::kPrepared:
        Tell(events_.prepared);
        return true;
      case LaunchMessage::kStarted: {
        Result<CommandStarted> started = DecodeCommandStarted(frame.payload);
        if (started.ok()) Tell(events_.started, *started);
        return started.ok();
      }
      case LaunchMessage::kLaunchFailed: {
        Result<LaunchFailure> failure = DecodeLaunchFailure(frame.payload);
        if (failure.ok()) TellLast(events_.failed, LaunchError(*failure, subject_));
        return failure.ok();
      }
      case LaunchMessage::kEnded: {
        Result<CommandEnded> ended = DecodeCommandEnded(frame.payload);
        if (ended.ok()) TellLast(events_.ended, *ended);
        return ended.ok();
      }
      default:
        return false;
    }
  }

  // The callee may destroy the Launched, which empties events_: so a copy is called.
  template <typename Event, typename... Arguments>
  void Tell(const Event& event, const Arguments&... arguments) {
    if (over_ || !event) return;
    Event call = event;
    call(arguments...);
  }

  template <typename Event, typename Argument>
  void TellLast(const Event& event, const Argument& argument) {
    if (over_) return;
    over_ = true;
    Event call = event;
    events_ = LaunchEvents();
    if (call) call(argument);
  }

  void CloseChannel() {
    if (!channel_.is_open()) return;
    error_code ignored;
    channel_.close(ignored);
    exit_limit_ = shared_->loop.After(kExitLimitNs, [this] {
      LogError("kprof-launch does not end; killing it", {{"run", marker_}, {"pid", std::to_string(pid_)}});
      ::kill(pid_, SIGKILL);
    });
  }

  void OnExit() {
    TakeReceived();  // all that it said before is there by now
    exit_limit_.Cancel();
    CloseChannel();
    exit_limit_.Cancel();
    int wait_status = 0;
    while (::waitpid(pid_, &wait_status, 0) < 0 && errno == EINTR) {  // it has ended: does not wait
    }
    shared_->own.Remove(pid_);
    shared_->supervised.erase(this);
    error_code ignored;
    exit_.close(ignored);
    const bool left_some = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLaunchTreeLeft;
    if (left_some) shared_->WatchAdopted(start_ticks_);
    const bool tree_gone = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == kLaunchTreeGone;
    if (over_ && (tree_gone || left_some)) return;
    LogWarning("kprof-launch died",
               {{"run", marker_}, {"pid", std::to_string(pid_)}, {"how", HowItEnded(wait_status)}});
    shared_->Sweep(marker_, start_ticks_, [self = shared_from_this(), wait_status] {
      self->TellLast(self->events_.lost,
                     Fail(ErrorCode::kCommandFailed, "supervise '" + self->subject_.program + "'",
                          "kprof-launch died: " + HowItEnded(wait_status) + "; its processes have been ended",
                          "look in the kernel's log for a lack of memory, then run it again"));
    });
  }

  const std::shared_ptr<Shared> shared_;  // may outlive the launcher
  const LaunchSubject subject_;
  const std::string marker_;
  pid_t pid_ = -1;
  uint64_t start_ticks_ = 0;

  LaunchEvents events_;
  bool over_ = false;  // the last event was told, or nobody listens
  asio::local::stream_protocol::socket channel_;
  asio::posix::stream_descriptor exit_;  // pidfd
  FrameReader frames_;
  std::string outbox_;  // at most one request and a few bytes
  bool sending_ = false;
  IoLoop::Timer exit_limit_;
};

class SupervisorLauncher::Handle final : public Launched {
 public:
  Handle(IoLoop& loop, std::shared_ptr<Supervised> supervised) : loop_(loop), supervised_(std::move(supervised)) {}
  ~Handle() override {
    KPROF_ON_IO_LOOP(loop_);
    supervised_->Abandon();
  }
  void Go() override {
    KPROF_ON_IO_LOOP(loop_);
    supervised_->Send(FrameOf(LaunchMessage::kGo));
  }
  void Stop(int64_t grace_ms) override {
    KPROF_ON_IO_LOOP(loop_);
    supervised_->Send(FrameOf(LaunchMessage::kStop, EncodeStop(grace_ms)));
  }

 private:
  IoLoop& loop_;
  const std::shared_ptr<Supervised> supervised_;  // it stays until its process has been reaped
};

void SupervisorLauncher::Shared::Sweep(const std::string& marker, uint64_t since_ticks, std::function<void()> done) {
  // Moved on to the loop at the end: nothing of `done` or of this is destroyed on the worker.
  auto job = [shared = shared_from_this(), marker, since_ticks, done]() mutable {
    auto is_own = [&](const ProcessRow& row) { return shared->IsOwn(row, since_ticks); };
    auto find = [&] {
      std::vector<pid_t> found = FindMarkedProcesses([&](const std::string& id) { return id == marker; });
      for (pid_t orphan : FindOrphans(::getpid(), is_own)) {
        if (std::find(found.begin(), found.end(), orphan) == found.end()) found.push_back(orphan);
      }
      return found;
    };
    int killed = 0;
    bool some_left = true;
    for (int round = 0; some_left && round < kSweepRounds; ++round) {
      killed += KillChildrenAtSight(is_own);
      killed += KillAll(find, kKillRounds);
      ReapOrphans(is_own);
      some_left = !FindOrphans(::getpid(), is_own).empty();
    }
    LogInfo("swept what kprof-launch left", {{"run", marker}, {"killed", std::to_string(killed)}});
    IoLoop& loop = shared->loop;
    loop.Post([shared = std::move(shared), since_ticks, some_left, done = std::move(done)] {
      if (some_left) shared->WatchAdopted(since_ticks);
      done();
    });
  };
  if (pool.Submit(std::move(job)).ok()) return;
  // The pool is full. A timer per sweep, kept by its own task.
  auto timer = std::make_shared<IoLoop::Timer>();
  *timer = loop.After(kRetryNs, [shared = shared_from_this(), timer, marker, since_ticks, done] {
    shared->Sweep(marker, since_ticks, done);
  });
}

// Processes that could not be killed are ours now; one day they end, and somebody must take note.
void SupervisorLauncher::Shared::WatchAdopted(uint64_t since_ticks) {
  adopted_since_ticks = adopted_since_ticks == 0 ? since_ticks : std::min(adopted_since_ticks, since_ticks);
  if (closed || looking_at_adopted || next_look.pending()) return;
  next_look = loop.After(kAdoptedLookNs, [this] { LookAtAdopted(); });
}

void SupervisorLauncher::Shared::LookAtAdopted() {
  const uint64_t since_ticks = std::exchange(adopted_since_ticks, 0);
  looking_at_adopted = true;
  auto job = [shared = shared_from_this(), since_ticks]() mutable {
    auto is_own = [&](const ProcessRow& row) { return shared->IsOwn(row, since_ticks); };
    ReapOrphans(is_own);
    bool some_left = !FindOrphans(::getpid(), is_own).empty();
    IoLoop& loop = shared->loop;
    loop.Post([shared = std::move(shared), since_ticks, some_left] {
      shared->looking_at_adopted = false;
      if (some_left) {
        shared->WatchAdopted(since_ticks);
      } else if (shared->adopted_since_ticks != 0) {
        shared->WatchAdopted(shared->adopted_since_ticks);
      }
    });
  };
  if (pool.Submit(std::move(job)).ok()) return;
  looking_at_adopted = false;
  WatchAdopted(since_ticks);
}

SupervisorLauncher::SupervisorLauncher(IoLoop& loop, WorkerPool& pool, std::string program)
    : shared_(std::make_shared<Shared>(loop, pool, std::move(program))) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    LogError("cannot become a child subreaper; what a killed kprof-launch leaves is found by its marker only",
             {{"error", std::to_string(errno)}});
  }
}

SupervisorLauncher::~SupervisorLauncher() {
  KPROF_ON_IO_LOOP(shared_->loop);
  shared_->closed = true;
  shared_->next_look.Cancel();
  for (Supervised* supervised : std::set<Supervised*>(shared_->supervised)) supervised->Abandon();
}

OwnChildren& SupervisorLauncher::own_children() {
  return shared_->own;
}

int64_t SupervisorLauncher::supervisors() const {
  return static_cast<int64_t>(shared_->supervised.size());
}

Result<std::unique_ptr<Launched>> SupervisorLauncher::Launch(const LaunchRequest& request, const std::string& marker,
                                                             const OutputFiles& files, LaunchEvents events) {
  KPROF_ON_IO_LOOP(shared_->loop);
  LaunchRequest marked = request;
  std::erase_if(marked.environment, [](const std::string& variable) { return variable.starts_with("KPROF_RUN_ID="); });
  marked.environment.push_back("KPROF_RUN_ID=" + marker);
  RETURN_IF_ERROR(CheckLaunchRequest(marked));

  const std::string what = "start the supervisor " + shared_->program;
  auto fail = [&](int error) {
    return Status(ErrorCode::kSpawnFailed, what, FailErrno(error, what).why(),
                  "check that kprof is installed whole, and the limits of processes and open files");
  };
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail(errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  if (int error = SendFiles(ours.get(), files); error != 0) return fail(error);
  const uint64_t start_ticks = StartTicksNow();
  int spawn_error = 0;
  pid_t pid = shared_->own.Add([&]() -> pid_t {
    pid_t spawned = -1;
    spawn_error = SpawnSupervisor(shared_->program, theirs.get(), spawned);
    return spawn_error == 0 ? spawned : -1;
  });
  if (pid < 0) return fail(spawn_error);
  theirs.Reset();

  auto supervised = std::make_shared<Supervised>(shared_, SubjectOf(marked), marker, std::move(events));
  Status begun = supervised->Begin(std::move(ours), pid, start_ticks,
                                   FrameOf(LaunchMessage::kPrepare, EncodeLaunchRequest(marked)));
  if (!begun.ok()) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);  // a KILL that nothing can hold up: it has nothing open yet
    shared_->own.Remove(pid);
    return Status(ErrorCode::kSpawnFailed, begun.what(), begun.why(), begun.remedy());
  }
  return std::unique_ptr<Launched>(std::make_unique<Handle>(shared_->loop, std::move(supervised)));
}

}  // namespace kprof
