// How many connections the daemon has, and how many it refused, by what they speak: `rpc` or `http`; `tcp` are those of
// other nodes that were refused before they could speak either. Values are kept by reference; see metrics.h.
#pragma once

#include <string>

#include "daemon/base/metrics.h"

namespace kprof {

class ConnectionMetrics {
 public:
  explicit ConnectionMetrics(Metrics& metrics)
      : open_(metrics.AddGauges("kprof_connections_open", "Connections that are open.", {"listener"})),
        accepted_(metrics.AddCounters("kprof_connections_accepted_total", "Connections taken.", {"listener"})),
        refused_(metrics.AddCounters("kprof_connections_refused_total", "Connections that were turned away.",
                                     {"listener", "reason"})) {}

  Gauge& Open(const std::string& listener) { return open_.With({listener}); }
  Counter& Accepted(const std::string& listener) { return accepted_.With({listener}); }
  // `reason`: of a few fixed words, "too_many", "no_role"...
  Counter& Refused(const std::string& listener, const std::string& reason) { return refused_.With({listener, reason}); }

 private:
  Family<Gauge>& open_;
  Family<Counter>& accepted_;
  Family<Counter>& refused_;
};

}  // namespace kprof
