#include "daemon/process/supervisor/supervisor_guard.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "daemon/launch/launch_protocol.h"
#include "daemon/launch/process_sweep.h"
#include "daemon/process/supervisor/command_files.h"
#include "daemon/process/supervisor/control_channel.h"
#include "storage/base/clock.h"
#include "storage/base/descriptors.h"

namespace kprof {
namespace {

constexpr char kGuardName[] = "kprof-guard";
// A supervisor gives up by itself on what it cannot kill after 10 s.
constexpr int64_t kEndLimitNs = 20 * kNanosPerSecond;
constexpr int kSweepRounds = 10;
constexpr int kKillRounds = 5;

// The supervisor is reaped: whoever is below us now is its.
int EndWhatItLeft() {
  auto is_own = [](const ProcessRow&) { return false; };
  bool some_left = true;
  for (int round = 0; some_left && round < kSweepRounds; ++round) {
    const KilledChildren at_sight = KillChildrenAtSight(is_own);
    KillAll([] { return FindDescendants(::getpid()); }, kKillRounds);
    ReapOrphans(is_own);
    some_left = !at_sight.none_left || !FindDescendants(::getpid()).empty();
  }
  return some_left ? kLaunchTreeLeft : kLaunchTreeGone;
}

class Guard {
 public:
  Guard(pid_t supervisor, int control_fd, int child_signal_fd, const char* output_folder)
      : supervisor_(supervisor),
        control_fd_(control_fd),
        child_signal_fd_(child_signal_fd),
        output_folder_(output_folder) {}

  int Run() {
    while (!Reap()) Poll();
    if (WIFEXITED(wait_status_)) return WEXITSTATUS(wait_status_);
    const int left = EndWhatItLeft();
    if (output_folder_ != nullptr && output_folder_[0] != '\0') RemoveFolderTree(output_folder_);
    return left;
  }

 private:
  bool Reap() { return ::waitpid(supervisor_, &wait_status_, WNOHANG) == supervisor_; }

  void Poll() {
    const bool closed = kill_at_ns_ != 0;
    pollfd waits[2] = {{child_signal_fd_, POLLIN, 0}, {closed ? -1 : control_fd_, POLLRDHUP, 0}};
    timespec timeout{};
    if (closed) {
      const int64_t left_ns = kill_at_ns_ - ReadClockNs(CLOCK_MONOTONIC);
      if (left_ns <= 0) {
        ::kill(supervisor_, SIGKILL);
        kill_at_ns_ += kEndLimitNs;  // what hangs in the kernel dies when it comes out of it
        return;
      }
      timeout = {left_ns / kNanosPerSecond, left_ns % kNanosPerSecond};
    }
    if (::ppoll(waits, 2, closed ? &timeout : nullptr, nullptr) <= 0) return;
    if (waits[1].revents != 0) kill_at_ns_ = ReadClockNs(CLOCK_MONOTONIC) + kEndLimitNs;
    if (waits[0].revents != 0) {
      signalfd_siginfo info[16];
      [[maybe_unused]] ssize_t size = ::read(child_signal_fd_, info, sizeof info);  // says only: look
    }
  }

  const pid_t supervisor_;
  const int control_fd_;
  const int child_signal_fd_;
  const char* const output_folder_;
  int wait_status_ = 0;
  int64_t kill_at_ns_ = 0;  // CLOCK_MONOTONIC; 0: the channel is open
};

// A copy of the last of the files that lie in the channel, which stay there for the supervisor: the one to be held,
// where there is one (launch_protocol.h). They were sent before anybody could have this end; who sends none is no
// daemon of ours.
UniqueFd PeekLastFile(int control_fd) {
  ChannelFiles received = ReceiveChannelFiles(control_fd, MSG_PEEK);
  return received.files.empty() ? UniqueFd() : std::move(received.files.back());
}

}  // namespace

char* MakeSharedFolderPath() {
  void* page = ::mmap(nullptr, kOutputFolderPathBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : static_cast<char*>(page);
}

int ForkUnderGuard(int control_fd, int child_signal_fd, const char* output_folder,
                   const std::function<void()>& close_in_guard) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno;  // of the guard alone: a fork does not inherit it
  const UniqueFd held = PeekLastFile(control_fd);             // in the supervisor it goes when this returns
  const pid_t supervisor = ::fork();
  if (supervisor < 0) return errno;
  if (supervisor == 0) return 0;
  close_in_guard();
  ::prctl(PR_SET_NAME, kGuardName);
  ::_exit(Guard(supervisor, control_fd, child_signal_fd, output_folder).Run());
}

}  // namespace kprof
