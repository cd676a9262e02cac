#include "daemon/rpc/messages/session_message.h"

#include "daemon/rpc/messages/run_message.h"
#include "daemon/runs/audit/audited_calls.h"

namespace kprof {

v1::SessionState ToWire(SessionState state) {
  return static_cast<v1::SessionState>(static_cast<int>(state) + 1);
}
SessionState FromWire(v1::SessionState state) {
  return static_cast<SessionState>(static_cast<int>(state) - 1);
}

static_assert(static_cast<int>(SessionState::kQueued) + 1 == v1::SESSION_STATE_QUEUED);
static_assert(static_cast<int>(SessionState::kLost) + 1 == v1::SESSION_STATE_LOST);

void FillSession(const SessionRow& row, v1::Session& out) {
  out.set_id(row.id);
  out.set_state(ToWire(row.state));
  out.set_uid(row.uid);
  for (const std::string& device : row.devices) out.add_devices(device);
  out.set_clocks(row.clocks);
  for (const auto& [key, value] : row.labels) (*out.mutable_labels())[key] = value;
  out.set_attached(row.attached);
  out.set_opened_unix_ns(row.opened_ns);
  if (row.granted_ns) out.set_granted_unix_ns(*row.granted_ns);
  if (row.closed_ns) out.set_closed_unix_ns(*row.closed_ns);
  if (row.expires_ns) out.set_expires_unix_ns(*row.expires_ns);
  out.set_rounds(static_cast<int32_t>(row.last_round));
  if (row.error) FillError(*row.error, *out.mutable_error());
  out.set_priority(static_cast<int32_t>(row.priority));
  out.set_ttl_ms(row.ttl_ms);
  out.set_idle_timeout_ms(row.idle_timeout_ms);
  out.set_queue_timeout_ms(row.queue_timeout_ms);
  FillTrust(row.trust, *out.mutable_trust());
}

void FillRound(const RunRow& run, v1::Round& out) {
  out.set_number(static_cast<int32_t>(run.round.value_or(0)));
  out.set_run_id(run.id);
  out.set_state(ToWire(run.state));
  for (const auto& [key, value] : run.labels) (*out.mutable_labels())[key] = value;
  if (run.started_ns) out.set_started_unix_ns(*run.started_ns);
  if (run.ended_ns) out.set_ended_unix_ns(*run.ended_ns);
  if (run.error) FillError(*run.error, *out.mutable_error());
  FillMetrics(run.metrics, *out.mutable_metrics());
}

SessionRequest RequestOf(const Caller& caller, const v1::OpenSessionRequest& message) {
  SessionRequest request;
  request.uid = caller.uid;
  request.caller = ActorOf(caller).caller;
  request.certificate_id = caller.certificate_id;
  request.device = message.device();
  if (!message.clocks().empty()) request.clocks = message.clocks();
  request.labels.insert(message.labels().begin(), message.labels().end());
  request.attached = !message.detached();
  request.ttl_ms = message.ttl_ms();
  request.idle_timeout_ms = message.idle_timeout_ms();
  request.queue_timeout_ms = message.queue_timeout_ms();
  request.priority = message.priority();
  return request;
}

}  // namespace kprof
