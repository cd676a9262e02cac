// A session as the catalog keeps it. A value: the code that runs it fills it, session_table.h stores and lists it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog/run_row.h"

namespace kprof {

enum class SessionState { kQueued, kOpen, kClosing, kClosed, kLost };

std::string_view SessionStateName(SessionState state);  // "queued"
constexpr bool IsOver(SessionState state) {
  return state == SessionState::kClosed || state == SessionState::kLost;
}

struct SessionRow {
  std::string id;
  uint32_t uid = 0;
  SessionState state = SessionState::kQueued;
  bool attached = false;  // ends with its client
  std::string clocks;     // its policy, as asked for
  std::map<std::string, std::string> labels;
  std::vector<std::string> devices;  // as leased
  int64_t priority = 0;
  int64_t ttl_ms = 0;  // 0: none; here and below
  int64_t idle_timeout_ms = 0;
  int64_t queue_timeout_ms = 0;
  int64_t opened_ns = 0;  // when it was asked for; Unix ns
  std::optional<int64_t> granted_ns;
  std::optional<int64_t> closed_ns;
  std::optional<int64_t> expires_ns;
  int64_t last_round = 0;
  std::optional<RunError> error;  // why it ended, when nobody closed it
  std::vector<TrustReason> trust;
  bool operator==(const SessionRow&) const = default;
};

}  // namespace kprof
