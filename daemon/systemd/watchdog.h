// Answers the service manager's watchdog as long as the daemon does its work, and only then: whoever is stuck without
// hope of an end (a deadlock, a stopped process) is ended and started anew by the service manager. What "does its work"
// means is watchdog.h.
//
// Begin starts a thread of its own, which waits for nothing but time. The parts must outlive it.
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

// Whether the parts of the daemon that everything else waits for still get work done: the io loop, the writer, the
// short jobs' workers. Each is asked for an answer, as one more job of its own; a part is stuck that by the next look
// has neither answered nor done any other work since. So a long queue is no reason, as long as it moves. Knows nothing
// of who wants to know; that is watchdog.h.
//
// Look: one thread. Answers come from anywhere, and may come when this is gone.
struct WatchedPart {
  std::string name;
  // Calls `answer` when its turn comes; never, if there is no room for one more job.
  std::function<void(std::function<void()> answer)> ask;
  // Jobs done so far.
  std::function<int64_t()> work_done;
};

// They must outlive whoever looks.
WatchedPart WatchedLoop(IoLoop& loop);
WatchedPart WatchedWriter(Writer& writer);
WatchedPart WatchedWorkers(WorkerPool& pool);

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

  // One look: pings when no part is stuck; else, and when that is over, the log says once which. For tests; Begin's
  // thread calls it else.
  void Look();

 private:
  void LookAgainAndAgain(int64_t period_ns);

  // The looking thread's.
  LifeSigns signs_;
  ServiceNotifier notifier_;
  std::set<std::string> stuck_;

  Mutex mu_;
  std::condition_variable_any wake_;
  bool stopping_ KPROF_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace kprof
