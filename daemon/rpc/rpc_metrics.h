// Counts calls: how many are under way, how long they took by method, how they failed by method and code. Told by
// whoever sees every call come and go; knows no callers, of which there is no end.
//
// Any thread. A call costs a few relaxed atomics; a failed one a look into a small map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/metrics.h"
#include "storage/base/error_code.h"

namespace kprof {

class RpcMetrics {
 public:
  // `methods` as on the wire, "kprof.v1.RunsService/GetRun"; a call is told by its place here. One may stand here
  // twice.
  RpcMetrics(Metrics& metrics, std::span<const std::string> methods);

  void CallBegan() { in_flight_.Add(); }
  void CallEnded(size_t method, CanonicalCode code, int64_t duration_ns);

 private:
  struct Method {
    std::string name;
    Histogram& seconds;
  };

  Gauge& in_flight_;
  Family<Histogram>& seconds_;
  Family<Counter>& errors_;
  const std::vector<Method> methods_;
};

}  // namespace kprof
