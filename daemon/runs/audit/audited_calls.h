// Records refused calls and connections in the audit. Each refusal is recorded by the code that knows its object: at
// the admission (here), or where the object was found (object_lookup.h). Acts that are done are recorded where they are
// done (audit_log.h).
#pragma once

#include <string>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/runs/audit/audit_log.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

// The caller as the audit names it.
inline Actor ActorOf(const Caller& caller) {
  return {caller.uid, caller.certificate.empty() ? "local" : "certificate:" + caller.certificate,
          caller.certificate_id};
}

// Records that the caller was not allowed that act, for this reason. Any thread, as all of these.
inline void RecordRefused(AuditLog& audit, const Caller& caller, const char* act, const Status& status) {
  audit.RecordRefusal({ActorOf(caller), act, status.code(), status.why(), {}, {}});
}
inline void RecordRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const Status& status) {
  RecordRefused(audit, caller, RuleOf(rpc).method, status);
}

// The same, if `status` says that the caller is not allowed it, or is over a limit.
inline void RecordIfRefused(AuditLog& audit, const Caller& caller, const char* act, const Status& status) {
  if (status.code() != ErrorCode::kNotPermitted && status.code() != ErrorCode::kQueueFull) return;
  RecordRefused(audit, caller, act, status);
}
inline void RecordIfRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const Status& status) {
  RecordIfRefused(audit, caller, RuleOf(rpc).method, status);
}

// Records that the caller was not allowed this act on that object, which exists, whatever the caller was told.
inline void RecordRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const RunRow& run, const Status& status) {
  const std::string whose = "it belongs to uid " + std::to_string(run.uid);
  audit.RecordRefusal({ActorOf(caller), RuleOf(rpc).method, status.code(), whose, run.id, run.session_id});
}
inline void RecordRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const SessionRow& session,
                          const Status& status) {
  const std::string whose = "it belongs to uid " + std::to_string(session.uid);
  audit.RecordRefusal({ActorOf(caller), RuleOf(rpc).method, status.code(), whose, {}, session.id});
}

// Records refusals, then passes all that it is told on to `next`.
class AuditedCalls final : public CallObserver {
 public:
  AuditedCalls(AuditLog& audit, CallObserver& next) : audit_(audit), next_(next) {}

  void ConnectionOpened() override { next_.ConnectionOpened(); }
  void ConnectionEnded() override { next_.ConnectionEnded(); }
  void ConnectionRefused(const Caller& caller, const Status& why) override {
    RecordIfRefused(audit_, caller, "connect", why);
    next_.ConnectionRefused(caller, why);
  }
  void CallBegan(Rpc rpc) override { next_.CallBegan(rpc); }
  void CallRefused(const Caller& caller, Rpc rpc, const Status& why) override {
    RecordIfRefused(audit_, caller, rpc, why);
    next_.CallRefused(caller, rpc, why);
  }
  void CallEnded(Rpc rpc, CanonicalCode code, int64_t duration_ns) override { next_.CallEnded(rpc, code, duration_ns); }

 private:
  AuditLog& audit_;
  CallObserver& next_;
};

}  // namespace kprof
