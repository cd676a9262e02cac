// The HTTP server: listens on loopback, keeps a bounded number of connections, hands each its routes. Asks nobody who
// they are: everybody on this machine may read its routes, so no route may tell anything that is not for everybody.
//
// It has a loop of its own, and runs on that only: HTTP clients take no time of the daemon's loop. When all places are
// taken, a new connection takes that of the one that has waited for its next request the longest, so that idle ones
// keep nobody out. When all are being answered, the new one is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/web/http_address.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// A GET or a HEAD, which are answered alike: the server leaves out the body of the latter.
struct HttpRequest {
  std::string path;   // "/metrics": as it came, nothing is decoded
  std::string query;  // the part after '?'
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;  // besides those that every response has
};

// Call it once, from any thread. Where no answer comes in time the client gets a 503, and a later one is dropped.
using HttpRespond = std::function<void(HttpResponse)>;
// Called on the server's loop, where it must not block: slow work goes to a worker, which responds.
using HttpHandler = std::function<void(const HttpRequest&, HttpRespond)>;
// Handlers by whole path.
using HttpRoutes = std::map<std::string, HttpHandler, std::less<>>;

// The bounds and deadlines of a server and its connections.
struct HttpLimits {
  size_t most_connections = 64;
  size_t header_bytes = 8 << 10;      // of the request line and all headers
  int64_t first_request_ms = 10'000;  // from connecting to the end of the first request
  int64_t next_request_ms = 75'000;   // longer than scrapes are apart
  int64_t answer_ms = 10'000;         // then it is a 503
  int64_t write_ms = 10'000;          // then the connection is closed
  int64_t linger_ms = 1'000;          // how long what a refused client still sends is thrown away
};

// Shared by the connections of one server; outlives them.
struct HttpShared {
  IoLoop& loop;
  const HttpRoutes routes;
  const HttpLimits limits;
  Family<Counter>& responses;  // by code
};

// One HTTP/1.1 connection: reads a request, has it answered, writes the answer, reads the next one. GET and HEAD only.
// A bad request gets a status of its own; the connection ends where the next request could not be told from the rest of
// this one. Everything has a bound and a deadline. Knows no listener and no other connection.
//
// The loop only.
class HttpConnection {
 public:
  // `socket` is connected. `ended` is posted to the loop, once, when there is nothing more to say; not after the
  // destructor has begun.
  HttpConnection(HttpShared& shared, UniqueFd socket, std::function<void()> ended);
  // Closes it at once, whatever it is doing.
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // The time since which it waits for a request, on the monotonic clock; absent while one is being answered.
  std::optional<int64_t> waits_since_ns() const;

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;  // shared with its operations in flight, which come back after it was closed
};

// The server's metrics. They outlive the server.
struct HttpMetrics {
  HttpMetrics(Metrics& metrics, ConnectionMetrics& connections);
  Family<Counter>& responses;
  Gauge& open;
  Counter& accepted;
  Counter& refused;
};

class HttpServer {
 public:
  // Fails with kUsage when the port is taken, otherwise as the system does. `loop`, `metrics` and everything that
  // `routes` use outlive it.
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
