// The metrics of all rooms. Built first and taken down last: everybody else holds references to them. docs/metrics.md
// describes the families.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/base/metrics.h"
#include "daemon/clocks/device_counters.h"
#include "daemon/rpc/rpc_metrics.h"
#include "daemon/runs/run_metrics.h"
#include "daemon/web/http_server.h"

namespace kprof {

struct DaemonMetrics {
  DaemonMetrics(const Clock& clock, size_t queue_limit, const std::string& version);

  Metrics all;
  ConnectionMetrics connections{all};
  StorageMetrics storage{all};
  DeviceMetrics devices{all};
  RunMetrics runs;
  RpcMetrics rpcs{all, connections};
  HttpMetrics http{all, connections};
  Gauge& trace_cache_bytes =
      all.AddGauge("kprof_trace_cache_bytes", "Columns of traces that are kept in memory for the next question.");
  Gauge& first_tls_expiry =
      all.AddGauge("kprof_tls_expiry_timestamp_seconds",
                   "When the first certificate, authority or revocation list expires; 0: no remote clients.");
};

}  // namespace kprof
