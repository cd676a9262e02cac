// The HTTP server with a loop, a thread and one worker of its own, so that HTTP clients take no time of the daemon's
// loop or of its workers.
//
// Made and destroyed on the main thread. Everything that routes use must outlive it. Code elsewhere that may still
// respond must have stopped before this ends: the daemon's loop has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/base/worker_pool.h"
#include "daemon/web/http_server.h"
#include "storage/base/clock.h"

namespace kprof {

// /metrics: the text for Prometheus, made on a worker of `pool`; 503 when that takes no more. Both outlive the server.
HttpHandler MetricsPage(Metrics& metrics, WorkerPool& pool);

// /healthz: tells whether it is worth asking the daemon for more: 200 and "ok", or 503 and why not. `read_health` runs
// on the daemon's io loop and returns an empty text when all is well. A loop that does not turn any more is not healthy
// either: nothing answers, and the server says 503.
HttpHandler HealthPage(IoLoop& daemon_loop, std::function<std::string()> read_health);

class WebThread {
 public:
  // `make_routes` is given the worker. Fails as the system does; not when the port is taken: a port on loopback is
  // there for any user to take, and that shall not keep the daemon from starting. It says so in the log, and tries
  // again.
  static Result<std::unique_ptr<WebThread>> Start(const Clock& clock, const HttpAddress& address, HttpMetrics& metrics,
                                                  const std::function<HttpRoutes(WorkerPool&)>& make_routes);
  ~WebThread();
  WebThread(const WebThread&) = delete;
  WebThread& operator=(const WebThread&) = delete;

 private:
  WebThread(const Clock& clock, HttpAddress address, HttpMetrics& metrics)
      : loop_(clock), address_(std::move(address)), metrics_(metrics) {}
  Status Listen();

  IoLoop loop_;
  const HttpAddress address_;
  HttpMetrics& metrics_;
  HttpRoutes routes_;
  // Owned by the loop.
  IoLoop::Timer retry_;
  std::unique_ptr<HttpServer> server_;

  WorkerPool worker_{{.threads = 1, .queue_limit_jobs = 16}};  // joined before the things go that its jobs answer to
  std::thread thread_;
};

}  // namespace kprof
