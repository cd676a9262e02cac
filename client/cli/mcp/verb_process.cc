#include "client/cli/mcp/verb_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kprof::cli {
namespace {

constexpr auto kGrace = std::chrono::seconds(20);  // a run's own, and more
constexpr auto kSecondGrace = std::chrono::seconds(5);
constexpr int kCannotStart = 127;

struct PipeEnds {
  UniqueFd from;
  UniqueFd to;
};

Result<PipeEnds> OpenPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FailErrno(errno, "open a pipe");
  PipeEnds pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  ::fcntl(pipe.from.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// In the child, between fork and exec: system calls alone.
[[noreturn]] void BecomeVerb(pid_t parent, int results, int notes, char* const* argv) {
  ::setpgid(0, 0);  // the terminal's Ctrl-C is for the server, which interrupts its calls
  ::prctl(PR_SET_PDEATHSIG, SIGINT);
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &usual, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const bool is_ready = nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(results, STDOUT_FILENO) >= 0 &&
                        ::dup2(notes, STDERR_FILENO) >= 0;
  if (is_ready && ::getppid() == parent) ::execv("/proc/self/exe", argv);
  ::_exit(kCannotStart);
}

// False at its end.
bool ReadThere(int fd, const std::function<void(std::string_view)>& take) {
  char buffer[size_t{64} << 10];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) return false;
    take(std::string_view(buffer, static_cast<size_t>(got)));
  }
}

}  // namespace

Result<std::unique_ptr<VerbProcess>> VerbProcess::Start(const std::vector<std::string>& words,
                                                        TakeResults take_results) {
  ASSIGN_OR_RETURN(PipeEnds results, OpenPipe());
  ASSIGN_OR_RETURN(PipeEnds notes, OpenPipe());
  std::vector<std::string> all = {"kprofctl"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  argv.reserve(all.size() + 1);
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) BecomeVerb(parent, results.to.get(), notes.to.get(), argv.data());
  if (pid < 0) {
    return Fail(ErrorCode::kSpawnFailed, "start kprofctl", std::generic_category().message(errno),
                "check the limit of processes");
  }
  // glibc of older build hosts has no pidfd_open.
  UniqueFd exit(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const int error = errno;
  std::unique_ptr<VerbProcess> process(
      new VerbProcess(pid, std::move(exit), std::move(results.from), std::move(notes.from), std::move(take_results)));
  if (!process->exit_.valid()) return FailErrno(error, "watch kprofctl", "Linux 5.3 or newer is needed");
  return process;
}

VerbProcess::VerbProcess(pid_t pid, UniqueFd exit, UniqueFd results, UniqueFd notes, TakeResults take_results)
    : pid_(pid),
      exit_(std::move(exit)),
      take_results_(std::move(take_results)),
      results_from_(std::move(results)),
      notes_from_(std::move(notes)) {}

VerbProcess::~VerbProcess() {
  if (has_ended_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void VerbProcess::AddWaits(std::vector<pollfd>& waits) const {
  waits.push_back({exit_.get(), POLLIN, 0});
  waits.push_back({results_from_.get(), POLLIN, 0});
  waits.push_back({notes_from_.get(), POLLIN, 0});
}

bool VerbProcess::Pass() {
  // Asked before the pipes are read: what it wrote is in them then. Others may hold their ends longer.
  pollfd ended{exit_.get(), POLLIN, 0};
  const bool is_over = ::poll(&ended, 1, 0) > 0;
  if (results_from_.valid() && !ReadThere(results_from_.get(), take_results_)) results_from_.Reset();
  const auto take_notes = [this](std::string_view bytes) {
    notes_ += bytes;
    if (notes_.size() > kMostNoteBytes) notes_.erase(0, notes_.size() - kMostNoteBytes);
  };
  if (notes_from_.valid() && !ReadThere(notes_from_.get(), take_notes)) notes_from_.Reset();
  if (!is_over) {
    if (interrupts_ > 0 && Clock::now() >= next_interrupt_) Interrupt();
    return false;
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  has_ended_ = true;
  exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void VerbProcess::Interrupt() {
  if (has_ended_) return;
  ::kill(pid_, interrupts_ < 2 ? SIGINT : SIGKILL);
  next_interrupt_ = Clock::now() + (interrupts_ == 0 ? kGrace : kSecondGrace);
  ++interrupts_;
}

}  // namespace kprof::cli
