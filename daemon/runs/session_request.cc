#include "daemon/runs/session_request.h"

#include "daemon/runs/clock_policy.h"
#include "daemon/runs/request_checks.h"

namespace kprof {
namespace {

constexpr const char* kAct = "open a session";
constexpr size_t kSelectorLimitBytes = 1024;

}  // namespace

Status CheckSessionRequest(const SessionRequest& request) {
  if (request.device.size() > kSelectorLimitBytes) {
    return Fail(ErrorCode::kUsage, kAct,
                "the device selector has " + std::to_string(request.device.size()) + " bytes, over the limit of " +
                    std::to_string(kSelectorLimitBytes),
                "name devices by number, or all");
  }
  RETURN_IF_ERROR(CheckClockPolicy(request.clocks, kAct));
  RETURN_IF_ERROR(CheckLabels(request.labels, kAct));
  RETURN_IF_ERROR(CheckTimeout("the TTL", request.ttl_ms, kAct));
  RETURN_IF_ERROR(CheckTimeout("the idle timeout", request.idle_timeout_ms, kAct));
  RETURN_IF_ERROR(CheckTimeout("the queue timeout", request.queue_timeout_ms, kAct));
  RETURN_IF_ERROR(CheckPriority(request.priority, kAct));
  if (request.attached && (request.ttl_ms != 0 || request.idle_timeout_ms != 0)) {
    return Fail(ErrorCode::kUsage, kAct, "an attached session ends with its client, not by TTL or idle timeout",
                "open it detached, or leave them out");
  }
  return OkStatus();
}

}  // namespace kprof
