// Says when a session is to end by itself: it has waited as long as it would, its TTL has passed, it had no run for too
// long, or nobody has held it. Says why, with the remedy; its owner ends it.
//
// Waiting and the TTL are counted from a stored moment, so they go on over a restart. But neither is longer than its
// whole time from now on, however the wall clock was set meanwhile.
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
  // `passed` is called from the loop, or from inside Open; it may call Stop.
  SessionDeadlines(IoLoop& loop, const Clock& clock, std::string session_id,
                   std::function<void(const Status& why)> passed);

  // The session waits for its devices, since `row` was asked for (kQueueTimeout).
  void Wait(const SessionRow& row);
  void StopWaiting() { wait_.Cancel(); }

  // The session is open, until its TTL has passed (kTimedOut). If it passed while kprofd was away, `passed` is called
  // from inside, so that nothing begins in the session.
  void Open(const SessionRow& row);

  // The session has no run from now on (kTimedOut); or it has one again.
  void Idle(const SessionRow& row);
  void StopIdling() { idle_.Cancel(); }

  // Nobody holds the session from now on (kClientGone); or somebody does again.
  void Abandon(int64_t grace_ms);
  void StopAbandoning() { abandoned_.Cancel(); }

  // From here on `passed` is never called.
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
