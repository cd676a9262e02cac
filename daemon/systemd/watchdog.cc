#include "daemon/systemd/watchdog.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "daemon/base/io_loop.h"
#include "daemon/base/log.h"
#include "daemon/base/worker_pool.h"
#include "storage/base/clock.h"
#include "storage/db/writer.h"

namespace kprof {

WatchedPart WatchedLoop(IoLoop& loop) {
  return {"io loop", [&loop](std::function<void()> answer) { loop.Post(std::move(answer)); },
          [&loop] { return loop.tasks_run(); }};
}

// Changes nothing. A disk that refuses to commit is an answer, too: the daemon lives on with a full one.
WatchedPart WatchedWriter(Writer& writer) {
  return {"writer",
          [&writer](const std::function<void()>& answer) {
            writer.Submit([](Db&) { return OkStatus(); },
                          [answer](const Status& status) {
                            if (status.code() != ErrorCode::kQueueFull) answer();
                          });
          },
          [&writer] { return writer.commits(); }};
}

WatchedPart WatchedWorkers(WorkerPool& pool) {
  return {"workers", [&pool](std::function<void()> answer) { (void)pool.Submit(std::move(answer)); },
          [&pool] { return pool.jobs_done(); }};
}

LifeSigns::LifeSigns(std::vector<WatchedPart> parts) {
  for (WatchedPart& part : parts) watched_.push_back({std::move(part), nullptr, 0});
}

std::vector<std::string> LifeSigns::Look() {
  std::vector<std::string> stuck;
  for (Watched& watched : watched_) {
    if (Lives(watched)) {
      Ask(watched);
    } else {
      stuck.push_back(watched.part.name);
    }
  }
  return stuck;
}

bool LifeSigns::Lives(Watched& watched) {
  const int64_t work_done = watched.part.work_done();
  const bool moved = std::exchange(watched.work_done, work_done) != work_done;
  return moved || watched.answered == nullptr || *watched.answered;
}

void LifeSigns::Ask(Watched& watched) {
  auto answered = std::make_shared<std::atomic<bool>>(false);
  watched.answered = answered;
  watched.part.ask([answered] { *answered = true; });
}

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
