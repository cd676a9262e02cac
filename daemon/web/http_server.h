// The HTTP server: listens on loopback, keeps a bounded number of connections, hands each its routes. Asks nobody who
// they are: whoever is on this machine may read what its routes say, and no route may say what is not for everybody.
//
// The loop only, which is one of its own: what HTTP clients do takes no time of the daemon's. When all places are
// taken, a new connection takes that of the one that has waited for its next request the longest, so that idle ones
// keep nobody out; when all are being answered, the new one is closed.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/base/connection_metrics.h"
#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/web/http_address.h"
#include "daemon/web/http_connection.h"
#include "daemon/web/http_message.h"
#include "storage/base/status.h"

namespace kprof {

// Families that outlive the server.
struct HttpMetrics {
  HttpMetrics(Metrics& metrics, ConnectionMetrics& connections);
  Family<Counter>& responses;
  Gauge& open;
  Counter& accepted;
  Counter& refused;
};

class HttpServer {
 public:
  // Fails with kUsage when the port is taken, otherwise as the system does. What `routes` use, `loop` and `metrics`
  // outlive it.
  static Result<std::unique_ptr<HttpServer>> Listen(IoLoop& loop, const HttpAddress& address, HttpRoutes routes,
                                                    HttpMetrics& metrics, const HttpLimits& limits = {});
  // Stops listening and closes all connections.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // With the port that it got.
  const HttpAddress& address() const;

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kprof
