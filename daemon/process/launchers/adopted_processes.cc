#include "daemon/process/launchers/adopted_processes.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/base/log.h"
#include "daemon/launch/process_sweep.h"

namespace kprof {
namespace {

// 10 s at most for what hangs in the kernel: 200 ms a kill round.
constexpr int kSweepRounds = 10;
constexpr int kKillRounds = 5;
constexpr int64_t kRetryNs = 100 * kNanosPerMilli;
constexpr int64_t kLookNs = 5 * kNanosPerSecond;

}  // namespace

void AdoptedProcesses::Sweep(const std::string& marker, uint64_t since_ticks, std::function<void(const Status&)> done) {
  // Moved on to the loop at the end: nothing of `done` or of this is destroyed on the worker.
  auto job = [self = shared_from_this(), marker, since_ticks, done]() mutable {
    auto is_own = [&](const ProcessRow& row) { return self->IsOwn(row, since_ticks); };
    auto find = [&] {
      std::vector<pid_t> found = FindMarkedProcesses([&](const std::string& id) { return id == marker; });
      // A supervisor that hangs in the kernel is waited for, and reaped, by its link.
      std::erase_if(found, [&](pid_t pid) { return self->own_.Has(pid); });
      for (pid_t orphan : FindOrphans(::getpid(), is_own)) {
        if (std::find(found.begin(), found.end(), orphan) == found.end()) found.push_back(orphan);
      }
      return found;
    };
    int killed = 0;
    bool some_left = true;
    for (int round = 0; some_left && round < kSweepRounds; ++round) {
      const KilledChildren at_sight = KillChildrenAtSight(is_own);
      killed += static_cast<int>(at_sight.hit.size());
      killed += KillAll(find, kKillRounds);
      ReapOrphans(is_own);
      some_left = !at_sight.none_left || !FindOrphans(::getpid(), is_own).empty();
    }
    const size_t left = find().size();
    LogInfo("swept what kprof-launch left",
            {{"run", marker}, {"killed", std::to_string(killed)}, {"left", std::to_string(left)}});
    IoLoop& loop = self->loop_;
    loop.Post([self = std::move(self), since_ticks, some_left, left, done = std::move(done)] {
      if (some_left) self->Watch(since_ticks);
      done(left == 0 ? OkStatus()
                     : Fail(ErrorCode::kCommandFailed, "end what kprof-launch left",
                            std::to_string(left) + " of its processes could not be ended"));
    });
  };
  if (pool_.Submit(std::move(job)).ok()) return;
  // The pool is full. A timer per sweep, kept by its own task.
  auto timer = std::make_shared<IoLoop::Timer>();
  *timer = loop_.After(kRetryNs, [self = shared_from_this(), timer, marker, since_ticks, done] {
    self->Sweep(marker, since_ticks, done);
  });
}

void AdoptedProcesses::Watch(uint64_t since_ticks) {
  since_ticks_ = since_ticks_ == 0 ? since_ticks : std::min(since_ticks_, since_ticks);
  if (closed_ || looking_ || next_look_.pending()) return;
  next_look_ = loop_.After(kLookNs, [this] { Look(); });
}

void AdoptedProcesses::Look() {
  const uint64_t since_ticks = std::exchange(since_ticks_, 0);
  looking_ = true;
  auto job = [self = shared_from_this(), since_ticks]() mutable {
    auto is_own = [&](const ProcessRow& row) { return self->IsOwn(row, since_ticks); };
    ReapOrphans(is_own);
    bool some_left = !FindOrphans(::getpid(), is_own).empty();
    IoLoop& loop = self->loop_;
    loop.Post([self = std::move(self), since_ticks, some_left] {
      self->looking_ = false;
      if (some_left) {
        self->Watch(since_ticks);
      } else if (self->since_ticks_ != 0) {
        self->Watch(self->since_ticks_);
      }
    });
  };
  if (pool_.Submit(std::move(job)).ok()) return;
  looking_ = false;
  Watch(since_ticks);
}

void AdoptedProcesses::Close() {
  closed_ = true;
  next_look_.Cancel();
}

}  // namespace kprof
