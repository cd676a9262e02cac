// Who a caller is in the audit, and what of calls goes there by itself: those that were refused. The others are
// recorded where they do what they do (daemon/runs/audit_log.h).
#pragma once

#include <string>

#include "daemon/rpc/caller_desk.h"
#include "daemon/runs/audit_log.h"

namespace kprof {

inline Actor ActorOf(const Caller& caller) {
  return {caller.uid, caller.certificate.empty() ? "local" : "certificate:" + caller.certificate};
}

// Hears of all calls before `next` does.
class AuditedCalls final : public CallObserver {
 public:
  AuditedCalls(AuditLog& audit, CallObserver& next) : audit_(audit), next_(next) {}

  void ConnectionOpened() override { next_.ConnectionOpened(); }
  void ConnectionEnded() override { next_.ConnectionEnded(); }
  void ConnectionRefused(const std::string& who, const Status& why) override {
    // Whoever has no role is nobody's Caller.
    if (why.code() == ErrorCode::kNotPermitted) {
      audit_.RecordRefusal({kNoUid, "nobody"}, why.what() + ": " + who + " has no role on this node");
    }
    next_.ConnectionRefused(who, why);
  }
  void CallBegan(Rpc rpc) override { next_.CallBegan(rpc); }
  void CallEnded(const Caller& caller, Rpc rpc, CanonicalCode code, int64_t duration_ns) override {
    // Of those without a role the connection was refused already.
    if (code == CanonicalCode::kPermissionDenied && caller.role != Role::kNone) {
      audit_.RecordRefusal(ActorOf(caller), RuleOf(rpc).method);
    }
    next_.CallEnded(caller, rpc, code, duration_ns);
  }

 private:
  AuditLog& audit_;
  CallObserver& next_;
};

}  // namespace kprof
