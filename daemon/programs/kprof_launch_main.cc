// kprof-launch: starts one command for kprofd and owns its process tree. Speaks launch_protocol.h over one descriptor
// (launch_options.h). It is not for people: started by hand it says so and ends.
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <optional>
#include <utility>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/process/supervisor/launch_options.h"
#include "daemon/process/supervisor/supervisor.h"
#include "daemon/process/supervisor/supervisor_guard.h"

namespace {

void Say(std::string_view text) {
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

bool IsSocket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

// So that 0, 1 and 2 are never taken by something that a child must not have.
void FillStandardDescriptors() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);  // takes the lowest that is free: this one
  }
}

// The channel as descriptor 3, behind it the sockets to the client, where there are any, and no other above the
// standard ones. Returns the channel, or -1.
int TakeControl(int given, bool passes_output) {
  if (given != kprof::kChannelFd) {
    if (::dup2(given, kprof::kChannelFd) < 0) return -1;
    ::close(given);
  }
  FillStandardDescriptors();
  ::syscall(SYS_close_range, passes_output ? kprof::kFirstFreeFd : kprof::kChannelFd + 1, INT_MAX, 0);
  return kprof::kChannelFd;
}

// One of the sockets to the client; none where it was not given.
kprof::UniqueFd TakeClientSocket(int fd, bool passes_output) {
  if (!passes_output || !IsSocket(fd)) return {};
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return kprof::UniqueFd(fd);
}

// Signals do not end us, the channel does: all are blocked but those that tell of our own faults. SIGCHLD comes by
// descriptor.
int BlockSignals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) sigdelset(&blocked, fault);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, it would reap behind our back
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return ::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Room for a descriptor per process when a large tree is ended. Returns the limit as it was.
kprof::ResourceLimit RaiseDescriptorLimit() {
  rlimit was{};
  ::getrlimit(RLIMIT_NOFILE, &was);
  rlimit raised{was.rlim_max, was.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return {RLIMIT_NOFILE, was.rlim_cur, was.rlim_max};
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<kprof::LaunchOptions> options = kprof::ParseLaunchOptions(argc, argv);
  if (!options || !IsSocket(options->control_fd)) {
    Say("kprof-launch is started by kprofd and kprofctl, not by hand; use kprofctl capture. If you did, they are of "
        "different builds: install kprof whole\n");
    return 2;
  }
  // Its command has the same uid, and shall neither trace it nor reach its descriptors. Not where the daemon is its
  // parent, which finds it by its environment: that it is installed unreadable (deploy/CMakeLists.txt) is undone there.
  ::prctl(PR_SET_DUMPABLE, options->kept ? 0 : 1);
  ::prctl(PR_SET_NAME, kprof::kSupervisorName);  // executed by descriptor, it would be called "4"
  const int control_fd = TakeControl(options->control_fd, options->passes_output);
  if (control_fd < 0) {
    Say("kprof-launch: take its channel: no descriptor left; raise the limit of open files\n");
    return 2;
  }
  kprof::ClientSockets client{TakeClientSocket(kprof::kClientStdoutFd, options->passes_output),
                              TakeClientSocket(kprof::kClientStderrFd, options->passes_output)};
  kprof::UniqueFd child_signals(BlockSignals());
  if (!child_signals.valid()) {
    Say("kprof-launch: watch for children: no descriptor left; raise the limit of open files\n");
    return 2;
  }
  char* output_folder = options->kept ? kprof::MakeSharedFolderPath() : nullptr;
  auto close_in_guard = [&client] { client = {}; };
  if (options->kept && kprof::ForkUnderGuard(control_fd, child_signals.get(), output_folder, close_in_guard) != 0) {
    Say("kprof-launch: make a process: the kernel refused; raise the limit of processes\n");
    return 2;
  }
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    Say("kprof-launch: become a subreaper: the kernel refused; Linux 3.4 or newer is needed\n");
    return 2;
  }
  kprof::ResourceLimit own_nofile = RaiseDescriptorLimit();
  kprof::Supervisor supervisor(kprof::UniqueFd(control_fd), std::move(child_signals), own_nofile, options->digest,
                               output_folder, std::move(client));
  // Nothing is worth tidying in a process that ends.
  ::_exit(supervisor.Run());
}
