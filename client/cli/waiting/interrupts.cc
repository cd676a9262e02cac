#include "client/cli/waiting/interrupts.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "storage/base/status.h"

namespace kprof::cli {
namespace {

// A signal handler can reach nothing else. Only handlers and the one Interrupts object touch these.
std::atomic<int> g_event = -1;
std::atomic<int> g_first = 0;
std::atomic<int> g_exit_status = 0;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kSignals.size()> g_before;

extern "C" void OnSignal(int number) {
  int saved_errno = errno;
  int none = 0;
  bool is_first = g_first.compare_exchange_strong(none, number);
  if (!is_first && number == SIGHUP) return;
  if (!is_first) {
    // Off the progress line, then out.
    [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, "\n", 1);
    ::_exit(g_exit_status.load());
  }
  ::eventfd_write(g_event.load(), 1);
  errno = saved_errno;
}

}  // namespace

Interrupts::Interrupts(int exit_status) {
  g_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  KPROF_CHECK(g_event >= 0);
  g_first = 0;
  g_exit_status = exit_status;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &g_before[i]);
    if (g_before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &g_before[i], nullptr);
  ::close(g_event.exchange(-1));
}

int Interrupts::fd() const {
  return g_event;
}
int Interrupts::first() const {
  return g_first;
}

bool Interrupts::WaitReadable(int fd) const {
  std::array<pollfd, 2> waits = {pollfd{fd, POLLIN, 0}, pollfd{g_event, POLLIN, 0}};
  while (g_first == 0) {
    // A signal wakes it, too, and is seen.
    if (::poll(waits.data(), waits.size(), -1) > 0 && waits[0].revents != 0) return g_first == 0;
  }
  return false;
}

StopAtSignal::StopAtSignal(const Interrupts& interrupts)
    : interrupts_(interrupts), over_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  KPROF_CHECK(over_.valid());
  thread_ = std::thread([this] {
    if (!interrupts_.WaitReadable(over_.get()) && interrupts_.first() != 0) stop_.request_stop();
  });
}

StopAtSignal::~StopAtSignal() {
  ::eventfd_write(over_.get(), 1);
  thread_.join();
}

InterruptibleCall::InterruptibleCall(bool wanted) {
  if (!wanted) return;
  interrupts_.emplace(ExitStatusOf(ErrorCode::kCancelled));
  at_signal_.emplace(*interrupts_);
}

Status InterruptibleCall::Ended(const Status& answer) const {
  if (answer.ok() || !stop().stop_requested()) return answer;
  return Fail(ErrorCode::kCancelled, answer.what(), "interrupted");
}

}  // namespace kprof::cli
