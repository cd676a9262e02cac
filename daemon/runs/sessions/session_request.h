// A client's request to open a session, as typed values. CheckSessionRequest is where bytes from outside end: behind it
// everything is within its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "daemon/runs/command/run_request.h"
#include "storage/base/status.h"
#include "storage/catalog/session_row.h"

namespace kprof {

struct SessionRequest {
  uint32_t uid = 0;
  std::string caller = "local";  // as in Actor: how the user is known
  std::string certificate_id;    // the same
  std::string device;            // a selector
  std::string clocks = "none";
  std::map<std::string, std::string> labels;
  bool attached = true;
  int64_t ttl_ms = 0;           // of a detached one; 0: an hour
  int64_t idle_timeout_ms = 0;  // of a detached one; 0: ten minutes
  int64_t queue_timeout_ms = 0;
  int64_t priority = 0;
};

// The configuration's [sessions].
struct SessionLimits {
  size_t sessions = 1'000;  // waiting and open ones together
  size_t sessions_per_uid = 100;
  int64_t max_ttl_ms = kTimeoutLimitMs;  // of detached ones, as the next
  int64_t max_idle_timeout_ms = kTimeoutLimitMs;
  bool operator==(const SessionLimits&) const = default;
};

// Fails with kUsage and names the field and the limit.
Status CheckSessionRequest(const SessionRequest& request);

// Fills in the times of a detached session that it does not say itself. kUsage for more than the node allows.
Status FitSessionTimes(const SessionLimits& limits, SessionRequest& request);

// The row of the session; its id, devices and time are to be filled in.
SessionRow NewSessionRow(const SessionRequest& request);

}  // namespace kprof
