// Where the calls of one caller come by, whatever connection they arrive on: says yes or no to each (its role, how many
// are under way, how fast they come), and knows how many have not ended. Knows no gRPC and no objects; whose object a
// call is about is decided when that is found (access_rules.h).
//
// Any thread. Shared by the caller's server and its calls, which outlive it by a turn of the io loop.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/rpc/access_rules.h"
#include "daemon/rpc/caller.h"
#include "daemon/rpc/connection_limits.h"
#include "storage/base/error_code.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// Hears of connections, on the io loop, and of calls, on any thread: for who counts and who keeps the audit. Must not
// block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void ConnectionOpened() {}
  virtual void ConnectionEnded() {}
  virtual void ConnectionRefused(const Status& /*why*/) {}
  virtual void CallBegan(Rpc rpc) = 0;
  virtual void CallEnded(const Caller& caller, Rpc rpc, CanonicalCode code, int64_t duration_ns) = 0;
};

class CallerDesk {
 public:
  // `refusal`: not ok, when every call is to be answered with it. `observer` may be null; it and the clock outlive
  // this.
  CallerDesk(const Clock& clock, Caller caller, const CallLimits& limits, Status refusal, CallObserver* observer);

  const Caller& caller() const { return caller_; }

  // Every Enter, whatever it says, is followed by a Leave. Fails as AuthorizeCall does, and with kQueueFull over a
  // limit.
  Status Enter(Rpc rpc);
  void Leave(Rpc rpc, CanonicalCode code, int64_t entered_mono_ns);

  int64_t calls_in_flight() const;
  void SetLimits(const CallLimits& limits);
  const Clock& clock() const { return clock_; }

 private:
  Status TakeFromRate() KPROF_REQUIRES(mu_);

  const Clock& clock_;
  const Caller caller_;
  const Status refusal_;
  CallObserver* const observer_;
  mutable Mutex mu_;
  CallLimits limits_ KPROF_GUARDED_BY(mu_);
  int64_t in_flight_ KPROF_GUARDED_BY(mu_) = 0;
  double left_ KPROF_GUARDED_BY(mu_);  // calls that may come at once
  int64_t left_at_ns_ KPROF_GUARDED_BY(mu_);
};

}  // namespace kprof
