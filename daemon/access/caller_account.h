// What one user, or one certificate, has under way at kprofd, and may have, on whatever connections and as whichever of
// their callers: calls and how fast they come, watches, and the bytes of answers that their clients have not taken yet.
// Who may do what is access_rules.h.
//
// Any thread. Shared by the desks of its callers.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/access/connection_limits.h"
#include "daemon/base/bounded_count.h"
#include "storage/base/clock.h"
#include "storage/base/mutex.h"
#include "storage/base/status.h"

namespace kprof {

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

}  // namespace kprof
