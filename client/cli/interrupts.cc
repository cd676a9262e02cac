#include "client/cli/interrupts.h"

#include <sys/eventfd.h>
#include <unistd.h>

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
struct sigaction g_before_int;
struct sigaction g_before_term;

extern "C" void OnSignal(int number) {
  int saved_errno = errno;
  int none = 0;
  if (!g_first.compare_exchange_strong(none, number)) {
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
  ::sigaction(SIGINT, &action, &g_before_int);
  ::sigaction(SIGTERM, &action, &g_before_term);
}

Interrupts::~Interrupts() {
  ::sigaction(SIGINT, &g_before_int, nullptr);
  ::sigaction(SIGTERM, &g_before_term, nullptr);
  ::close(g_event.exchange(-1));
}

int Interrupts::fd() const {
  return g_event;
}
int Interrupts::first() const {
  return g_first;
}

}  // namespace kprof::cli
