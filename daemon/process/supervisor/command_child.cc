#include "daemon/process/supervisor/command_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <utility>

#include "daemon/launch/launch_request.h"
#include "storage/base/clock.h"
#include "storage/base/environment.h"

namespace kprof {
namespace {

// The number of the descriptor behind $KPROF_METRICS, at least: far from those that shells use for themselves.
constexpr int kMetricsNumber = 100;
constexpr int kPipeBytes = 1 << 20;  // the most that an unprivileged process may ask for, by default

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

bool MakePipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read.Reset(ends[0]);
  pipe.write.Reset(ends[1]);
  return true;
}

[[noreturn]] void Give(ChildReport& report, const char* step, int error) {
  std::strncpy(report.step, step, sizeof report.step - 1);
  report.error = error;
  ::_exit(127);
}

// A hard limit that may not be raised is taken as far as it goes.
int SetLimit(const ResourceLimit& limit) {
  auto resource = static_cast<__rlimit_resource_t>(limit.resource);
  rlimit wanted{limit.soft, limit.hard};
  wanted.rlim_cur = std::min(wanted.rlim_cur, wanted.rlim_max);
  if (::setrlimit(resource, &wanted) == 0) return 0;
  if (errno != EPERM) return errno;
  rlimit present{};
  if (::getrlimit(resource, &present) != 0) return errno;
  wanted.rlim_max = std::min(wanted.rlim_max, present.rlim_max);
  wanted.rlim_cur = std::min(wanted.rlim_cur, wanted.rlim_max);
  return ::setrlimit(resource, &wanted) == 0 ? 0 : errno;
}

void ResetSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// All but standard input, output, error and those.
void CloseAllBut(std::vector<int> kept) {
  auto close_range = [](int first, int last) {
    if (first <= last) ::syscall(SYS_close_range, first, last, 0);
  };
  std::sort(kept.begin(), kept.end());
  int first = 3;
  for (const int fd : kept) {
    close_range(first, fd - 1);
    first = fd + 1;
  }
  close_range(first, INT_MAX);
}

// Not to be closed at exec. Where no number is free that high, another one.
int AsMetricsFd(int fd) {
  const int high = ::fcntl(fd, F_DUPFD, kMetricsNumber);
  return high >= 0 ? high : ::fcntl(fd, F_DUPFD, 3);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct ChildEnds {
  int go = -1;
  int report = -1;
  int out = -1;
  int err = -1;
  int metrics = -1;
  int event = -1;
};

[[noreturn]] void RunChild(const LaunchRequest& request, const ResourceLimit& own_nofile, ChildEnds ends,
                           pid_t supervisor, ChildReport& report) {
  ::setpgid(0, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) Give(report, "prctl", errno);
  if (::getppid() != supervisor) ::_exit(127);  // it died before the line above could tell us
  int null = ::open("/dev/null", O_RDONLY);
  if (null < 0) Give(report, "stdin", errno);
  if (::dup2(null, STDIN_FILENO) < 0 || ::dup2(ends.out, STDOUT_FILENO) < 0 || ::dup2(ends.err, STDERR_FILENO) < 0) {
    Give(report, "dup2", errno);
  }
  const int metrics = AsMetricsFd(ends.metrics);
  if (metrics < 0) Give(report, "dup", errno);
  std::vector<int> kept = {ends.go, ends.report, metrics};
  int event = -1;
  if (ends.event >= 0) {
    event = AsMetricsFd(ends.event);
    if (event < 0) Give(report, "dup", errno);
    kept.push_back(event);
  }
  CloseAllBut(std::move(kept));
  ::umask(static_cast<mode_t>(request.umask & 0777));
  SetLimit(own_nofile);
  for (const ResourceLimit& limit : request.limits) {
    if (int error = SetLimit(limit); error != 0) Give(report, "setrlimit", error);
  }
  if (::chdir(request.cwd.c_str()) != 0) Give(report, "chdir", errno);
  std::string program;
  if (int error = FindProgram(request.argv[0], request.environment, program); error != 0) {
    Give(report, "exec", error);
  }
  std::vector<std::string> variables = request.environment;
  SetVariable(variables, std::string(kMetricsVariable) + "=/proc/" + std::to_string(::getpid()) + "/fd/" +
                             std::to_string(metrics));
  if (event >= 0) {
    SetVariable(variables,
                std::string(kEventVariable) + "=/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(event));
  }
  std::vector<char*> argv = Pointers(request.argv);
  std::vector<char*> environment = Pointers(variables);
  ResetSignals();

  char byte = 0;
  if (::write(ends.report, &byte, 1) != 1) ::_exit(127);
  ssize_t got = 0;
  do {
    got = ::read(ends.go, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);  // no Go will come
  report.unix_ns = ReadClockNs(CLOCK_REALTIME);
  report.mono_ns = ReadClockNs(CLOCK_MONOTONIC);
  ::execve(program.c_str(), argv.data(), environment.data());
  int error = errno;
  // The file is there, so what is missing is what its first line or its ELF header names.
  if (error == ENOENT && ::access(program.c_str(), F_OK) == 0) Give(report, "interpreter", error);
  Give(report, "exec", error);
}

}  // namespace

void CommandChild::Go() {
  char byte = 1;
  // SIGPIPE is blocked; a child that is gone is noticed as such.
  if (go_fd.valid()) [[maybe_unused]]
    ssize_t sent = ::write(go_fd.get(), &byte, 1);
  go_fd.Reset();
}

OutputPipe MakeMetricPipe() {
  Pipe pipe;
  if (!MakePipe(pipe)) return {};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return {std::move(pipe.read), std::move(pipe.write)};
}

OutputPipe MakeOutputPipe() {
  OutputPipe pipe = MakeMetricPipe();
  // Refused when the user has many: then it is a small one.
  if (pipe.read.valid()) ::fcntl(pipe.read.get(), F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

StartedChild StartCommandChild(const LaunchRequest& request, const ResourceLimit& own_nofile,
                               const ChildOutput& output) {
  StartedChild started;
  auto fail = [&](const char* step) {
    started.failure = {step, errno};
    return std::move(started);
  };
  Pipe go;
  Pipe report;
  if (!MakePipe(go) || !MakePipe(report)) return fail("pipe");
  void* page = ::mmap(nullptr, sizeof(ChildReport), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return fail("mmap");
  auto* shared = new (page) ChildReport;
  pid_t supervisor = ::getpid();
  pid_t pid = ::fork();
  if (pid < 0) return fail("fork");
  if (pid == 0) {
    const ChildEnds ends{go.read.get(),    report.write.get(), output.stdout_fd,
                         output.stderr_fd, output.metrics_fd,  output.event_fd};
    RunChild(request, own_nofile, ends, supervisor, *shared);
  }
  ::setpgid(pid, pid);  // also here, so that it holds whoever comes first
  started.child.pid = pid;
  started.child.go_fd = std::move(go.write);
  started.child.report_fd = std::move(report.read);
  started.child.report = shared;
  return started;
}

}  // namespace kprof
