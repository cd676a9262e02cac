#include "daemon/process/supervisor/process_tree.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "daemon/launch/process_sweep.h"
#include "storage/base/clock.h"

namespace kprof {
namespace {

int64_t NanosOf(const timeval& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_usec * 1'000LL;
}

}  // namespace

bool ProcessTree::Reap() {
  while (true) {
    int wait_status = 0;
    rusage usage{};
    pid_t pid = ::wait4(-1, &wait_status, WNOHANG, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return false;  // ECHILD: nobody is left
    if (pid == 0) return true;
    if (pid == command_.pid) {
      command_.wait_status = wait_status;
      command_.ended_unix_ns = ReadClockNs(CLOCK_REALTIME);
      command_.ended_mono_ns = ReadClockNs(CLOCK_MONOTONIC);
    }
    usage_.user_cpu_ns += NanosOf(usage.ru_utime);
    usage_.system_cpu_ns += NanosOf(usage.ru_stime);
    usage_.max_rss_bytes = std::max<int64_t>(usage_.max_rss_bytes, usage.ru_maxrss * 1024);
    usage_.voluntary_switches += usage.ru_nvcsw;
    usage_.involuntary_switches += usage.ru_nivcsw;
    terminated_.erase(pid);
    counted_.erase(pid);
  }
}

std::vector<pid_t> ProcessTree::Find() {
  std::vector<pid_t> found = FindDescendants(::getpid());
  CountLeftovers(found);
  return found;
}

void ProcessTree::CountLeftovers(const std::vector<pid_t>& found) {
  if (!command_.wait_status) return;
  for (pid_t pid : found) {
    if (counted_.insert(pid).second) ++leftovers_;
  }
}

void ProcessTree::Terminate() {
  SignalledProcesses signalled =
      SignalAll([this] { return Find(); }, {SIGTERM, SIGCONT}, [this](pid_t pid) { return terminated_.contains(pid); });
  terminated_.insert(signalled.reached.begin(), signalled.reached.end());
  terminated_.insert(signalled.refused.begin(), signalled.refused.end());
}

ProcessTree::KillRound ProcessTree::Kill() {
  SignalledProcesses signalled = FreezeAndKill([this] { return Find(); });
  CountLeftovers(KillChildrenAtSight([](const ProcessRow&) { return false; }).hit);
  return {static_cast<int64_t>(signalled.reached.size()), static_cast<int64_t>(signalled.refused.size())};
}

int64_t ProcessTree::CountLiving() const {
  return static_cast<int64_t>(FindDescendants(::getpid()).size());
}

}  // namespace kprof
