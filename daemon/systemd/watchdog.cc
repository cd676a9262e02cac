#include "daemon/systemd/watchdog.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/base/log.h"
#include "storage/base/clock.h"

namespace kprof {
namespace {

constexpr int64_t kLooksPerTimeout = 4;

}  // namespace

Watchdog::Watchdog(std::vector<WatchedPart> parts, ServiceNotifier notifier)
    : signs_(std::move(parts)), notifier_(std::move(notifier)) {}

Watchdog::~Watchdog() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Begin(int64_t timeout_ns) {
  KPROF_CHECK(!thread_.joinable());
  thread_ = std::thread(
      [this, period_ns = std::max(timeout_ns / kLooksPerTimeout, kNanosPerMilli)] { LookAgainAndAgain(period_ns); });
}

void Watchdog::Look() {
  const std::vector<std::string> names = signs_.Look();
  const std::set<std::string> stuck(names.begin(), names.end());
  for (const std::string& name : stuck) {
    if (!stuck_.contains(name)) LogError("a part of kprofd is stuck; its watchdog gets no answer", {{"part", name}});
  }
  for (const std::string& name : stuck_) {
    if (!stuck.contains(name)) LogWarning("a part of kprofd that was stuck goes on", {{"part", name}});
  }
  stuck_ = stuck;
  if (!stuck_.empty()) return;
  if (Status pinged = notifier_.Ping(); !pinged.ok()) LogWarning("no ping", {{"error", pinged.ToString()}});
}

void Watchdog::LookAgainAndAgain(int64_t period_ns) {
  pthread_setname_np(pthread_self(), "kprofd-watchdog");
  const std::chrono::nanoseconds period(period_ns);
  auto is_over = [this]() KPROF_REQUIRES(mu_) { return stopping_; };
  while (true) {
    Look();
    MutexLock lock(mu_);
    if (wake_.wait_for(mu_, period, is_over)) return;
  }
}

}  // namespace kprof
