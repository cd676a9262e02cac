#include "daemon/rpc/rpc_metrics.h"

#include <array>

namespace kprof {
namespace {

// As gRPC writes them, by number.
constexpr std::array kCodeNames = {
    "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
};

}  // namespace

RpcMetrics::RpcMetrics(Metrics& metrics, ConnectionMetrics& connections)
    : in_flight_(metrics.AddGauge("kprof_rpcs_in_flight", "Calls that have begun and not ended.")),
      seconds_(metrics.AddHistograms("kprof_rpc_seconds",
                                     "How long calls took, by method; of streams, how long they were open.", {"method"},
                                     kShortSeconds)),
      errors_(metrics.AddCounters("kprof_rpc_errors_total",
                                  "Calls that did not end with OK, those included that clients gave up.",
                                  {"method", "code"})),
      connections_(connections),
      open_(connections.Open("rpc")),
      accepted_(connections.Accepted("rpc")) {
  for (const AccessRule& rule : AccessRules()) seconds_by_rpc_.push_back(&seconds_.With({rule.method}));
}

void RpcMetrics::ConnectionOpened() {
  accepted_.Add();
  open_.Add();
}

void RpcMetrics::ConnectionRefused(const Caller& /*caller*/, const Status& why) {
  connections_.Refused("rpc", std::string(ErrorName(why.code()))).Add();
}

void RpcMetrics::CallEnded(Rpc rpc, CanonicalCode code, int64_t duration_ns) {
  in_flight_.Subtract();
  seconds_by_rpc_[static_cast<size_t>(rpc)]->Observe(SecondsOf(duration_ns));
  if (code == CanonicalCode::kOk) return;
  const auto number = static_cast<size_t>(code);
  const char* name = number < kCodeNames.size() ? kCodeNames[number] : "UNKNOWN";
  errors_.With({RuleOf(rpc).method, name}).Add();
}

}  // namespace kprof
