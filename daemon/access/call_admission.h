// Where the calls of one caller come by, whatever connection they arrive on: says yes or no to each (its role; how many
// and how fast is its account's), and knows how many have not ended. Knows no gRPC and no objects; whose object a call
// is about is decided when that is found (access_rules.h).
//
// Any thread. Shared by the caller's server and its calls, which outlive it by a turn of the io loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/access/access_rules.h"
#include "daemon/access/caller.h"
#include "daemon/base/bounded_places.h"
#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// What bounds callers, each of them and together, so that none of them keeps another from being served. Values.

// Of each caller.
struct CallLimits {
  int64_t in_flight = 4096;     // begun and not ended
  int64_t per_second = 20'000;  // on average; twice as many may come at once
  int64_t watches = 2048;       // calls that go on until a run or a session has ended; a client has one, mostly
  // Of answers that were made and that no client has taken yet. The longest command makes an answer of 2 MiB; what is
  // counted is what goes over the wire, memory takes twice that.
  int64_t answer_bytes = int64_t{32} << 20;
  bool operator==(const CallLimits&) const = default;
};

struct ConnectionLimits {
  int64_t connections = 8192;              // in all
  int64_t connections_per_account = 2048;  // of one user with all that count as that user, or one certificate
  // That have a server. No more than kMostCallers, among whom memory is shared out (caller_servers.h).
  static constexpr int64_t kMostCallers = 256;
  int64_t callers = kMostCallers;
  int64_t callers_per_account = 16;   // of them: one user with other groups, or subordinate uids
  int64_t turned_away = 64;           // connections that are being told so, for each of a few reasons
  int64_t idle_ms = 300'000;          // a server without connections goes after that
  int64_t unknown_place_ms = 10'000;  // a connection whose caller's place nobody knows is to be made anew after that
  CallLimits calls;
  bool operator==(const ConnectionLimits&) const = default;
};

// What one user, or one certificate, has under way at kprofd, and may have, on whatever connections and as whichever of
// their callers: calls and how fast they come, watches, and the bytes of answers that their clients have not taken yet.
// Who may do what is access_rules.h.
//
// Any thread. Shared by the desks of its callers.

// Of all accounts together. Outlives them.
struct CallTotals {
  static constexpr int64_t kAnswerBytes = int64_t{512} << 20;
  static constexpr int64_t kWatches = 16'384;

  BoundedCount answer_bytes{kAnswerBytes};
  BoundedCount watches{kWatches};
};

class CallerAccount {
 public:
  // `name` is whose it is, for messages: "uid 1000".
  CallerAccount(const Clock& clock, std::string name, const CallLimits& limits, CallTotals& totals);
  CallerAccount(const CallerAccount&) = delete;
  CallerAccount& operator=(const CallerAccount&) = delete;

  // A call. Every Begin, whatever it says, is followed by an End. kQueueFull over a limit.
  Status Begin();
  void End();

  // A call that goes on until something happens. kQueueFull over a limit.
  Status TakeWatch();
  void GiveWatchBack();

  // An answer's bytes, from when it is made until its client has taken it. kQueueFull when too many have not been
  // taken.
  Status TakeAnswer(int64_t bytes);
  void GiveAnswerBack(int64_t bytes);

  int64_t answer_bytes() const;
  void SetLimits(const CallLimits& limits);

 private:
  Status TakeFromRate() KPROF_REQUIRES(mu_);

  const Clock& clock_;
  const std::string name_;
  CallTotals& totals_;
  mutable Mutex mu_;
  CallLimits limits_ KPROF_GUARDED_BY(mu_);
  int64_t in_flight_ KPROF_GUARDED_BY(mu_) = 0;
  int64_t watches_ KPROF_GUARDED_BY(mu_) = 0;
  int64_t answer_bytes_ KPROF_GUARDED_BY(mu_) = 0;
  double left_ KPROF_GUARDED_BY(mu_);  // calls that may come at once
  int64_t left_at_ns_ KPROF_GUARDED_BY(mu_);
};

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
