// Where the calls of one caller come by, whatever connection they arrive on: says yes or no to each (its role; how many
// and how fast is its account's), and knows how many have not ended. Knows no gRPC and no objects; whose object a call
// is about is decided when that is found (access_rules.h).
//
// Any thread. Shared by the caller's server and its calls, which outlive it by a turn of the io loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "daemon/access/access_rules.h"
#include "daemon/access/caller.h"
#include "daemon/access/caller_account.h"
#include "storage/base/clock.h"
#include "storage/base/error_code.h"
#include "storage/base/status.h"

namespace kprof {

// Hears of connections, on the io loop, and of calls, on any thread: for who counts and who keeps the audit. Must not
// block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void ConnectionOpened() {}
  virtual void ConnectionEnded() {}
  virtual void ConnectionRefused(const Caller& /*caller*/, const Status& /*why*/) {}
  virtual void CallBegan(Rpc rpc) = 0;
  // Between the two, of a call that its caller's role or limits did not allow. Not of those of a caller who was turned
  // away already.
  virtual void CallRefused(const Caller& /*caller*/, Rpc /*rpc*/, const Status& /*why*/) {}
  virtual void CallEnded(Rpc rpc, CanonicalCode code, int64_t duration_ns) = 0;
};

class CallAdmission {
 public:
  // `refusal`: not ok, when every call is to be answered with it. `observer` may be null; it and the clock outlive
  // this.
  CallAdmission(const Clock& clock, Caller caller, std::shared_ptr<CallerAccount> account, Status refusal,
                CallObserver* observer);

  const Caller& caller() const { return caller_; }
  const std::shared_ptr<CallerAccount>& account() const { return account_; }

  // Every Enter, whatever it says, is followed by a Leave. Fails as AuthorizeCall does, with kQueueFull over a limit,
  // and with kNoDaemon once closed.
  Status Enter(Rpc rpc);
  // A place among the account's watches, for a call that has been let in. Fails as CallerAccount::TakeWatch does.
  Status TakeWatch(Rpc rpc);
  void Leave(Rpc rpc, CanonicalCode code, int64_t entered_mono_ns);

  // From here on each call is told to come again on another connection, and nothing of it is done. For good.
  void Close();

  int64_t calls_in_flight() const;
  const Clock& clock() const { return clock_; }

 private:
  // `refused`, told to whoever observes.
  Status Refuse(Rpc rpc, Status refused) const;

  const Clock& clock_;
  const Caller caller_;
  const std::shared_ptr<CallerAccount> account_;  // shared with the desks of the same user
  const Status refusal_;
  CallObserver* const observer_;
  std::atomic<bool> closed_{false};
  std::atomic<int64_t> in_flight_{0};
};

}  // namespace kprof
