#include "daemon/process/worker/tool_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <utility>

#include "storage/base/readable_text.h"

namespace kprof {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kTailBytes = 2048;
constexpr int kStartWaitMs = 10'000;
constexpr int kKillWaitMs = 2000;
constexpr int kReportFd = 3;  // the child's

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// Above the numbers that they get in the child, so that none overwrites another.
bool MakePipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]);
  pipe.read.Reset(::fcntl(read.get(), F_DUPFD_CLOEXEC, kReportFd + 1));
  pipe.write.Reset(::fcntl(write.get(), F_DUPFD_CLOEXEC, kReportFd + 1));
  return pipe.read.valid() && pipe.write.valid();
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> environment;
  int out = -1;
  int error = -1;
  int report = -1;
  pid_t parent = -1;
};

// Between fork and exec of a process with threads: system calls alone. What fails goes to the parent as an errno.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  const auto give_up = [&] {
    const int why = errno;
    [[maybe_unused]] const ssize_t sent = ::write(plan.report, &why, sizeof why);
    ::_exit(127);
  };
  ::setpgid(0, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up();
  if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above could tell us
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0 || ::dup2(plan.out, STDOUT_FILENO) < 0 ||
      ::dup2(plan.error, STDERR_FILENO) < 0 || ::dup3(plan.report, kReportFd, O_CLOEXEC) < 0) {
    give_up();
  }
  ::syscall(SYS_close_range, kReportFd + 1, INT_MAX, 0);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.argv[0], plan.argv.data(), plan.environment.data());
  const int why = errno;
  [[maybe_unused]] const ssize_t sent = ::write(kReportFd, &why, sizeof why);
  ::_exit(127);
}

// No signal is handled in the child before it has its own dispositions.
pid_t Fork(const ChildPlan& plan) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) RunChild(plan);
  const int why = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return pid;
}

int Reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int MsUntil(SteadyClock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

// 0 once it runs the program, which closes the pipe; else an errno.
int ReadReport(int fd) {
  const auto until = SteadyClock::now() + std::chrono::milliseconds(kStartWaitMs);
  pollfd report{fd, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&report, 1, MsUntil(until))) < 0 && errno == EINTR) {
  }
  if (ready <= 0) return ETIME;
  int why = 0;
  return ::read(fd, &why, sizeof why) == sizeof why ? why : 0;
}

}  // namespace

std::string HowItEnded(int wait_status) {
  return WIFSIGNALED(wait_status) ? SignalName(WTERMSIG(wait_status))
                                  : "status " + std::to_string(WEXITSTATUS(wait_status));
}

Result<ToolProcess> ToolProcess::Start(const std::vector<std::string>& argv,
                                       const std::vector<std::string>& environment, OwnChildren* own) {
  KPROF_CHECK(!argv.empty());
  const std::string act = "start " + argv[0];
  const char* remedy = "check the limits of processes and open files";
  Pipe out;
  Pipe error;
  Pipe report;
  if (!MakePipe(out) || !MakePipe(error) || !MakePipe(report)) {
    return Fail(ErrorCode::kSpawnFailed, act, FailErrno(errno, act).why(), remedy);
  }
  for (const Pipe* pipe : {&out, &error}) ::fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  const ChildPlan plan{Pointers(argv),    Pointers(environment), out.write.get(),
                       error.write.get(), report.write.get(),    ::getpid()};
  int why = 0;
  const auto start = [&] {
    const pid_t started = Fork(plan);
    if (started < 0) why = errno;
    return started;
  };
  const pid_t pid = own == nullptr ? start() : own->Add(start);
  if (pid < 0) return Fail(ErrorCode::kSpawnFailed, act, FailErrno(why, act).why(), remedy);
  ::setpgid(pid, pid);  // also here, so that it holds whoever comes first
  for (Pipe* pipe : {&out, &error, &report}) pipe->write.Reset();
  UniqueFd pid_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  why = pid_fd.valid() ? ReadReport(report.read.get()) : errno;
  ToolProcess child(pid, std::move(pid_fd), std::move(out.read), std::move(error.read), own);
  if (why == 0) return child;
  const bool missing = why == ENOENT || why == ENOTDIR;
  return Fail(missing ? ErrorCode::kToolMissing : ErrorCode::kSpawnFailed, act, FailErrno(why, act).why(),
              missing ? "install the Neuron tools (aws-neuronx-tools)" : remedy);
}

ToolProcess::ToolProcess(pid_t pid, UniqueFd pid_fd, UniqueFd out, UniqueFd error, OwnChildren* own)
    : own_(own), pid_(pid), pid_fd_(std::move(pid_fd)), out_(std::move(out)), error_(std::move(error)) {}

ToolProcess::ToolProcess(ToolProcess&& other) noexcept
    : own_(other.own_),
      pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::move(other.pid_fd_)),
      out_(std::move(other.out_)),
      error_(std::move(other.error_)),
      error_tail_(std::move(other.error_tail_)) {}

ToolProcess::~ToolProcess() {
  End(0);
}

ToolProcess::Heard ToolProcess::Read(std::string& out, int wait_ms, int wake_fd) {
  const auto until = SteadyClock::now() + std::chrono::milliseconds(wait_ms);
  while (out_.valid()) {
    std::array<pollfd, 4> waits = {
        {{out_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}, {pid_fd_.get(), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), MsUntil(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Heard::kNothing;
    if (waits[1].revents != 0) ReadErrors();
    const size_t before = out.size();
    out.resize(before + kReadBytes);
    const ssize_t got = ::read(out_.get(), out.data() + before, kReadBytes);
    const int why = errno;
    out.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got > 0) return Heard::kBytes;
    if (got == 0) break;
    if (why != EAGAIN && why != EINTR) break;
    // Who it started may keep its output open, and says nothing.
    if (waits[2].revents != 0) break;
    if (waits[3].revents != 0 || MsUntil(until) == 0) return Heard::kNothing;
  }
  out_.Reset();
  return Heard::kEnd;
}

void ToolProcess::ReadErrors() {
  std::array<char, 4096> block;
  const ssize_t got = ::read(error_.get(), block.data(), block.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    error_.Reset();
    return;
  }
  error_tail_.append(block.data(), static_cast<size_t>(got));
  if (error_tail_.size() > kTailBytes) error_tail_.erase(0, error_tail_.size() - kTailBytes);
}

std::optional<int> ToolProcess::AwaitEnd(int wait_ms) {
  if (pid_ < 0) return std::nullopt;
  const auto until = SteadyClock::now() + std::chrono::milliseconds(wait_ms);
  while (true) {
    std::array<pollfd, 2> waits = {{{pid_fd_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}}};
    const int ready = ::poll(waits.data(), waits.size(), MsUntil(until));
    if (ready < 0 && errno == EINTR) continue;
    if (waits[1].revents != 0) ReadErrors();
    if (waits[0].revents != 0) break;
    // By the clock as well: of one that never stops complaining there is always something to read.
    if (ready <= 0 || MsUntil(until) == 0) return std::nullopt;
  }
  for (int blocks = 0; error_.valid() && blocks < 32; ++blocks) ReadErrors();  // what it said last
  ::kill(-pid_, SIGKILL);  // as long as it is not reaped, the group is its own
  const int status = Reap(pid_);
  Forget();
  return status;
}

void ToolProcess::End(int grace_ms) {
  if (pid_ < 0) return;
  if (grace_ms > 0) {
    ::kill(-pid_, SIGTERM);
    if (AwaitEnd(grace_ms)) return;
  }
  ::kill(-pid_, SIGKILL);
  if (AwaitEnd(kKillWaitMs)) return;
  Forget();  // though it was not waited for: nobody here will any more, so that whoever sweeps may
}

void ToolProcess::Forget() {
  if (own_ != nullptr) own_->Remove(pid_);
  pid_ = -1;
}

std::string ToolProcess::ErrorTail() const {
  const size_t begin = error_tail_.find_first_not_of(" \t\r\n");
  if (begin == error_tail_.npos) return "";
  return TerminalText(std::string_view(error_tail_).substr(begin, error_tail_.find_last_not_of(" \t\r\n") - begin + 1));
}

}  // namespace kprof
