// Answers the service manager's watchdog as long as the daemon does its work (LifeSigns), and only then. A daemon that
// is stuck for good (a deadlock, a stopped process) is ended and started anew by the service manager.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/systemd/service_manager.h"
#include "storage/base/mutex.h"

namespace kprof {

class IoLoop;
class WorkerPool;
class Writer;

// A part of the daemon, as LifeSigns watches it.
struct WatchedPart {
  std::string name;
  // Calls `answer` when its turn comes; never, if there is no room for one more job.
  std::function<void(std::function<void()> answer)> ask;
  // Jobs done so far.
  std::function<int64_t()> work_done;
};

// `loop`, `writer` and `pool` must outlive the LifeSigns.
WatchedPart WatchedLoop(IoLoop& loop);
WatchedPart WatchedWriter(Writer& writer);
WatchedPart WatchedWorkers(WorkerPool& pool);

// Tells whether the parts of the daemon that everything else waits for still get work done: the io loop, the writer,
// the workers of short jobs. Each is asked for an answer, as one more job of its own. A part is stuck if by the next
// look it has neither answered nor done any other work. So a long queue is no reason, as long as it moves.
//
// Look: one thread. Answers come from any thread, and may come when this is gone.
class LifeSigns {
 public:
  explicit LifeSigns(std::vector<WatchedPart> parts);

  // The names of the parts that are stuck; asks all others again. The first look only asks.
  std::vector<std::string> Look();

 private:
  struct Watched {
    WatchedPart part;
    std::shared_ptr<std::atomic<bool>> answered;  // shared with the answer to the last question; none: never asked
    int64_t work_done = 0;
  };
  static bool Lives(Watched& watched);
  static void Ask(Watched& watched);

  std::vector<Watched> watched_;
};

// Begin starts a thread of its own, which waits for nothing but time. The parts must outlive it.
class Watchdog {
 public:
  Watchdog(std::vector<WatchedPart> parts, ServiceNotifier notifier);
  // Joins the thread; it waits for nobody.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Looks four times in `timeout_ns`, the service manager's (service_manager.h): a part that is slow for most of that
  // time still makes it. Once.
  void Begin(int64_t timeout_ns);

  // One look: pings when no part is stuck. The log tells once which parts are stuck, and once when that is over.
  // Begin's thread calls it, and tests do.
  void Look();

 private:
  void LookAgainAndAgain(int64_t period_ns);

  // Owned by the looking thread.
  LifeSigns signs_;
  ServiceNotifier notifier_;
  std::set<std::string> stuck_;

  Mutex mu_;
  std::condition_variable_any wake_;
  bool stopping_ KPROF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace kprof
