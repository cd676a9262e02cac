// The times after which a session ends by itself: it has waited as long as it would, its TTL has passed, it had no run
// for too long, or nobody has held it. Says why, with the remedy, and nothing more; ending it is up to the owner.
//
// Waiting and the TTL are counted from a stored moment, and so go on over a restart; but no longer than all of it from
// now on, however the wall clock was set meanwhile.
//
// Io loop only. The loop and the clock must outlive it.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/io_loop.h"
#include "storage/base/clock.h"
#include "storage/base/status.h"
#include "storage/catalog/session_row.h"

namespace kprof {

class SessionDeadlines {
 public:
  // `passed` comes from the loop, but for Open, and may call Stop.
  SessionDeadlines(IoLoop& loop, const Clock& clock, std::string session_id,
                   std::function<void(const Status& why)> passed);

  // It waits for its devices, since `row` was asked for (kQueueTimeout).
  void Wait(const SessionRow& row);
  void StopWaiting() { wait_.Cancel(); }

  // It is open, until its TTL has passed (kTimedOut); says so from inside where that was while kprofd was away, so that
  // nothing begins under it.
  void Open(const SessionRow& row);

  // It is open and has no run (kTimedOut), from now on; or has one again.
  void Idle(const SessionRow& row);
  void StopIdling() { idle_.Cancel(); }

  // Nobody holds it (kClientGone), from now on; or somebody does again.
  void Abandon(int64_t grace_ms);
  void StopAbandoning() { abandoned_.Cancel(); }

  // None passes any more, whatever is called.
  void Stop();

 private:
  Status Why(ErrorCode code, const std::string& why, const std::string& remedy) const;
  void After(IoLoop::Timer& timer, int64_t wait_ns, const Status& why);

  IoLoop& loop_;
  const Clock& clock_;
  const std::string session_id_;
  const std::function<void(const Status&)> passed_;
  bool stopped_ = false;
  IoLoop::Timer wait_;
  IoLoop::Timer ttl_;
  IoLoop::Timer idle_;
  IoLoop::Timer abandoned_;
};

}  // namespace kprof
