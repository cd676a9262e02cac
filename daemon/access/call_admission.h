// Admits calls: says whether a caller's call may begin, and counts what all callers of one account have under way.
// Knows no gRPC and no objects: who may use an object is asked when it is found (permissions.h).
//
// Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "daemon/access/caller.h"
#include "daemon/access/permissions.h"
#include "daemon/base/bounded_places.h"
#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

// Limits of one account, so that no caller keeps another from being served. A value.
struct CallLimits {
  int64_t in_flight = 4096;     // begun and not ended
  int64_t per_second = 20'000;  // on average; twice as many may come at once
  int64_t watches = 2048;       // calls that go on until a run or a session has ended; a client has one, mostly
  // Bytes of answers that no client has taken yet, as they go over the wire; in memory they take twice that. The
  // longest command makes an answer of 2 MiB.
  int64_t answer_bytes = int64_t{32} << 20;
  bool operator==(const CallLimits&) const = default;
};

// Limits of connections and of the servers behind them (caller_servers.h). A value.
struct ConnectionLimits {
  int64_t connections = 8192;              // in all
  int64_t connections_per_account = 2048;  // of one user with all that count as that user, or one certificate
  // Callers that have a server. kMostCallers at most: memory is shared out among them (caller_servers.h).
  static constexpr int64_t kMostCallers = 256;
  int64_t callers = kMostCallers;
  int64_t callers_per_account = 16;   // of these: one user with other groups, or subordinate uids
  int64_t turned_away = 64;           // refused connections that are being told why, for each reason
  int64_t idle_ms = 300'000;          // a server without connections goes after that
  int64_t unknown_place_ms = 10'000;  // a connection whose caller's place is unknown is made anew after that
  CallLimits calls;
  bool operator==(const ConnectionLimits&) const = default;
};

// The counts of all accounts together. Outlives the accounts.
struct CallTotals {
  static constexpr int64_t kAnswerBytes = int64_t{512} << 20;
  static constexpr int64_t kWatches = 16'384;

  BoundedCount answer_bytes{kAnswerBytes};
  BoundedCount watches{kWatches};
};

// The account of one user, or of one certificate: counts what it has under way, over all its connections and callers,
// and refuses what is over its limits: calls, how fast they come, watches, and the bytes of answers that no client has
// taken yet.
//
// Any thread. Shared by the CallAdmissions of its callers.
class CallerAccount {
 public:
  // `name`: for messages, "uid 1000".
  CallerAccount(const Clock& clock, std::string name, const CallLimits& limits, CallTotals& totals);
  CallerAccount(const CallerAccount&) = delete;
  CallerAccount& operator=(const CallerAccount&) = delete;

  // A call begins. Every Begin, also one that fails, is followed by an End. kQueueFull over a limit.
  Status Begin();
  void End();

  // For a call that goes on until something happens. kQueueFull over a limit.
  Status TakeWatch();
  void GiveWatchBack();

  // An answer's bytes, from when it is made until its client has taken it. kQueueFull when too many bytes wait for
  // that.
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

// Is told of connections, on the io loop, and of calls, on any thread: for metrics and the audit. Must not block.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  virtual void ConnectionOpened() {}
  virtual void ConnectionEnded() {}
  virtual void ConnectionRefused(const Caller& /*caller*/, const Status& /*why*/) {}
  virtual void CallBegan(Rpc rpc) = 0;
  // Comes between the two, for a call that the caller's role or limits do not allow. Not for the calls of a caller who
  // was turned away before.
  virtual void CallRefused(const Caller& /*caller*/, Rpc /*rpc*/, const Status& /*why*/) {}
  virtual void CallEnded(Rpc rpc, CanonicalCode code, int64_t duration_ns) = 0;
};

// Says yes or no to each call of one caller, whatever connection it arrives on, by the caller's role and its account's
// limits. Knows how many of these calls have not ended.
//
// Any thread. Shared by the caller's server and its calls; the calls outlive the server by a turn of the io loop.
class CallAdmission {
 public:
  // `refusal`: if it is not ok, every call is answered with it. `observer` may be null; it and the clock outlive this.
  CallAdmission(const Clock& clock, Caller caller, std::shared_ptr<CallerAccount> account, Status refusal,
                CallObserver* observer);

  const Caller& caller() const { return caller_; }
  const std::shared_ptr<CallerAccount>& account() const { return account_; }

  // Every Enter, also one that fails, is followed by a Leave. Fails as AuthorizeCall does, with kQueueFull over a
  // limit, and with kNoDaemon once closed.
  Status Enter(Rpc rpc);
  // A place among the account's watches, for a call that has been let in. Fails as CallerAccount::TakeWatch does.
  Status TakeWatch(Rpc rpc);
  void Leave(Rpc rpc, CanonicalCode code, int64_t entered_mono_ns);

  // From here on each call fails with kNoDaemon: nothing was done, its client is to connect again. For good.
  void Close();

  int64_t calls_in_flight() const;
  const Clock& clock() const { return clock_; }

 private:
  // Returns `refused`, after telling the observer.
  Status Refuse(Rpc rpc, Status refused) const;

  const Clock& clock_;
  const Caller caller_;
  const std::shared_ptr<CallerAccount> account_;  // shared with the account's other callers
  const Status refusal_;
  CallObserver* const observer_;
  std::atomic<bool> closed_{false};
  std::atomic<int64_t> in_flight_{0};
};

}  // namespace kprof
