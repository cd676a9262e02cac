// Answers the service manager's watchdog as long as the daemon does its work, and only then: whoever is stuck without
// hope of an end (a deadlock, a stopped process) is ended and started anew by the service manager. What "does its work"
// means is life_signs.h.
//
// Begin starts a thread of its own, which waits for nothing but time. The parts must outlive it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/systemd/life_signs.h"
#include "daemon/systemd/service_notifier.h"
#include "storage/base/mutex.h"

namespace kprof {

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
