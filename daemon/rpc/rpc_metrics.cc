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

RpcMetrics::RpcMetrics(Metrics& metrics, std::span<const std::string> methods)
    : in_flight_(metrics.AddGauge("kprof_rpcs_in_flight", "Calls that have begun and not ended.")),
      seconds_(metrics.AddHistograms("kprof_rpc_seconds",
                                     "How long calls took, by method; of streams, how long they were open.", {"method"},
                                     kShortSeconds)),
      errors_(metrics.AddCounters("kprof_rpc_errors_total",
                                  "Calls that did not end with OK, those included that clients gave up.",
                                  {"method", "code"})),
      methods_([&] {
        std::vector<Method> known;
        known.reserve(methods.size());
        for (const std::string& method : methods) known.push_back({method, seconds_.With({method})});
        return known;
      }()) {}

void RpcMetrics::CallEnded(size_t method, CanonicalCode code, int64_t duration_ns) {
  in_flight_.Subtract();
  methods_[method].seconds.Observe(SecondsOf(duration_ns));
  if (code == CanonicalCode::kOk) return;
  const auto number = static_cast<size_t>(code);
  const char* name = number < kCodeNames.size() ? kCodeNames[number] : "UNKNOWN";
  errors_.With({methods_[method].name, name}).Add();
}

}  // namespace kprof
