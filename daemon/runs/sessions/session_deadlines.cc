#include "daemon/runs/sessions/session_deadlines.h"

#include <algorithm>
#include <utility>

#include "daemon/runs/seconds_text.h"

namespace kprof {

SessionDeadlines::SessionDeadlines(IoLoop& loop, const Clock& clock, std::string session_id,
                                   std::function<void(const Status&)> passed)
    : loop_(loop), clock_(clock), session_id_(std::move(session_id)), passed_(std::move(passed)) {}

void SessionDeadlines::Wait(const SessionRow& row) {
  if (row.queue_timeout_ms == 0) return;
  const int64_t all_ns = row.queue_timeout_ms * kNanosPerMilli;
  const int64_t left_ns = std::clamp<int64_t>(row.opened_ns + all_ns - clock_.unix_ns(), 0, all_ns);
  After(wait_, left_ns,
        Why(ErrorCode::kQueueTimeout, "it waited longer than its queue timeout",
            "give it more with --queue-timeout, or see kprofctl devices for who holds the device"));
}

void SessionDeadlines::Open(const SessionRow& row) {
  if (!row.expires_ns) return;
  const int64_t left_ns = std::min(*row.expires_ns - clock_.unix_ns(), row.ttl_ms * kNanosPerMilli);
  const Status why =
      Why(ErrorCode::kTimedOut, "its TTL of " + SecondsText(row.ttl_ms) + " has passed", "give it more with --ttl");
  if (left_ns > 0) return After(ttl_, left_ns, why);
  if (!stopped_) passed_(why);
}

void SessionDeadlines::Idle(const SessionRow& row) {
  if (row.idle_timeout_ms == 0) return;
  After(idle_, row.idle_timeout_ms * kNanosPerMilli,
        Why(ErrorCode::kTimedOut, "it had no run for " + SecondsText(row.idle_timeout_ms),
            "give it more with --idle-timeout"));
}

void SessionDeadlines::Abandon(int64_t grace_ms) {
  After(abandoned_, grace_ms * kNanosPerMilli,
        Why(ErrorCode::kClientGone, "the client that held it went away",
            "open one that is detached if it is to outlive its client"));
}

void SessionDeadlines::Stop() {
  stopped_ = true;
  for (IoLoop::Timer* timer : {&wait_, &ttl_, &idle_, &abandoned_}) timer->Cancel();
}

Status SessionDeadlines::Why(ErrorCode code, const std::string& why, const std::string& remedy) const {
  return Fail(code, "session " + session_id_, why, remedy);
}

void SessionDeadlines::After(IoLoop::Timer& timer, int64_t wait_ns, const Status& why) {
  if (!stopped_) timer = loop_.After(wait_ns, [this, why] { passed_(why); });
}

}  // namespace kprof
