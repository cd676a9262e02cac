#include "daemon/runs/sessions/session_request.h"

#include <algorithm>

#include "daemon/clocks/locks/clock_policy.h"
#include "daemon/runs/command/run_request.h"
#include "daemon/runs/seconds_text.h"

namespace kprof {
namespace {

constexpr const char* kCheckSessionAct = "open a session";
constexpr size_t kSelectorLimitBytes = 1024;
constexpr int64_t kDefaultTtlMs = 3600LL * 1000;
constexpr int64_t kDefaultIdleTimeoutMs = 600LL * 1000;

// 0 becomes `usual_ms`, or the most there may be.
Status FitTime(const char* what, int64_t usual_ms, int64_t most_ms, int64_t& asked_ms) {
  if (asked_ms == 0) asked_ms = std::min(usual_ms, most_ms);
  if (asked_ms <= most_ms) return OkStatus();
  return Fail(
      ErrorCode::kUsage, kCheckSessionAct,
      std::string(what) + " of " + SecondsText(asked_ms) + " is over this node's limit of " + SecondsText(most_ms),
      "ask for less, and open another when it has ended");
}

}  // namespace

Status CheckSessionRequest(const SessionRequest& request) {
  if (request.device.size() > kSelectorLimitBytes) {
    return Fail(ErrorCode::kUsage, kCheckSessionAct,
                "the device selector has " + std::to_string(request.device.size()) + " bytes, over the limit of " +
                    std::to_string(kSelectorLimitBytes),
                "name devices by number, or all");
  }
  RETURN_IF_ERROR(ParseClockPolicy(request.clocks, kCheckSessionAct).status());
  RETURN_IF_ERROR(CheckLabels(request.labels, kCheckSessionAct));
  RETURN_IF_ERROR(CheckTimeout("the TTL", request.ttl_ms, kCheckSessionAct));
  RETURN_IF_ERROR(CheckTimeout("the idle timeout", request.idle_timeout_ms, kCheckSessionAct));
  RETURN_IF_ERROR(CheckTimeout("the queue timeout", request.queue_timeout_ms, kCheckSessionAct));
  RETURN_IF_ERROR(CheckPriority(request.priority, kCheckSessionAct));
  if (request.attached && (request.ttl_ms != 0 || request.idle_timeout_ms != 0)) {
    return Fail(ErrorCode::kUsage, kCheckSessionAct,
                "an attached session ends with its client, not by TTL or idle timeout",
                "open it detached, or leave them out");
  }
  return OkStatus();
}

Status FitSessionTimes(const SessionLimits& limits, SessionRequest& request) {
  if (request.attached) return OkStatus();
  RETURN_IF_ERROR(FitTime("the TTL", kDefaultTtlMs, limits.max_ttl_ms, request.ttl_ms));
  return FitTime("the idle timeout", kDefaultIdleTimeoutMs, limits.max_idle_timeout_ms, request.idle_timeout_ms);
}

SessionRow NewSessionRow(const SessionRequest& request) {
  SessionRow row;
  row.uid = request.uid;
  row.attached = request.attached;
  row.clocks = request.clocks;
  row.labels = request.labels;
  row.priority = request.priority;
  row.ttl_ms = request.ttl_ms;
  row.idle_timeout_ms = request.idle_timeout_ms;
  row.queue_timeout_ms = request.queue_timeout_ms;
  return row;
}

}  // namespace kprof
