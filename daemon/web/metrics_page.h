// /metrics and /healthz.
#pragma once

#include <functional>
#include <string>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/base/worker_pool.h"
#include "daemon/web/http_message.h"

namespace kprof {

// What Prometheus asks for, made on a worker of `pool`; 503 when that takes no more. Both outlive the server.
HttpHandler MetricsPage(Metrics& metrics, WorkerPool& pool);

// Whether it is worth asking the daemon for more: 200 and "ok", or 503 and why not. `read_health` is asked on the
// daemon's io loop, so one that does not turn any more is not healthy either: nothing answers, and the server says 503.
// It answers with nothing when all is well.
HttpHandler HealthPage(IoLoop& daemon_loop, std::function<std::string()> read_health);

}  // namespace kprof
