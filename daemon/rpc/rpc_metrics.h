// Counts calls and connections: how many there are, how long calls took by method, how they failed by method and code,
// how many connections were turned away and why. Does not count by caller: their number has no bound.
//
// Any thread. A call costs a few relaxed atomics; a failed one a look into a small map.
#pragma once

#include <string>
#include <vector>

#include "daemon/access/call_admission.h"
#include "daemon/base/metrics.h"

namespace kprof {

class RpcMetrics final : public CallObserver {
 public:
  RpcMetrics(Metrics& metrics, ConnectionMetrics& connections);

  void ConnectionOpened() override;
  void ConnectionEnded() override { open_.Subtract(); }
  void ConnectionRefused(const Caller& caller, const Status& why) override;
  void CallBegan(Rpc /*rpc*/) override { in_flight_.Add(); }
  void CallEnded(Rpc rpc, CanonicalCode code, int64_t duration_ns) override;

 private:
  Gauge& in_flight_;
  Family<Histogram>& seconds_;
  Family<Counter>& errors_;
  ConnectionMetrics& connections_;
  Gauge& open_;
  Counter& accepted_;
  std::vector<Histogram*> seconds_by_rpc_;  // in the order of AccessRules
};

}  // namespace kprof
