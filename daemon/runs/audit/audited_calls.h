// Who a caller is in the audit, and what of calls and connections goes there: those that were refused. A refusal is
// recorded where it is decided, by whoever knows what it was about: at the admission (here), or where the object was
// found (object_lookup.h, object_lookup.h). What is done is recorded where it is done (audit_log.h).
#pragma once

#include <string>
#include <utility>

#include "daemon/access/call_admission.h"
#include "daemon/runs/audit/audit_log.h"
#include "storage/catalog/run_row.h"
#include "storage/catalog/session_row.h"

namespace kprof {

inline Actor ActorOf(const Caller& caller) {
  return {caller.uid, caller.certificate.empty() ? "local" : "certificate:" + caller.certificate,
          caller.certificate_id};
}

// Any thread, all of these.

// Records that the caller was not let do that, for this reason.
inline void RecordRefused(AuditLog& audit, const Caller& caller, const char* act, const Status& status) {
  audit.RecordRefusal({ActorOf(caller), act, status.code(), status.why(), {}, {}});
}
inline void RecordRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const Status& status) {
  RecordRefused(audit, caller, RuleOf(rpc).method, status);
}

// The same, or is over a limit: if that is what `status` says.
inline void RecordIfRefused(AuditLog& audit, const Caller& caller, const char* act, const Status& status) {
  if (status.code() != ErrorCode::kNotPermitted && status.code() != ErrorCode::kQueueFull) return;
  RecordRefused(audit, caller, act, status);
}
inline void RecordIfRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const Status& status) {
  RecordIfRefused(audit, caller, RuleOf(rpc).method, status);
}

// Records that the caller was not let do this to that one, which exists, whatever the caller was told of that.
inline void RecordRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const RunRow& run, const Status& status) {
  const std::string whose = "it belongs to uid " + std::to_string(run.uid);
  audit.RecordRefusal({ActorOf(caller), RuleOf(rpc).method, status.code(), whose, run.id, run.session_id});
}
inline void RecordRefused(AuditLog& audit, const Caller& caller, Rpc rpc, const SessionRow& session,
                          const Status& status) {
  const std::string whose = "it belongs to uid " + std::to_string(session.uid);
  audit.RecordRefusal({ActorOf(caller), RuleOf(rpc).method, status.code(), whose, {}, session.id});
}

// Hears of all calls before `next` does.
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
