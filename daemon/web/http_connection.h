// One HTTP/1.1 connection: reads a request, has it answered, writes the answer, reads the next one. GET and HEAD only;
// what is wrong with a request is said with a status of its own, and ends the connection where the next request could
// not be told from the rest of this one. Everything has a bound and a deadline. Knows no listener and no other
// connection (http_server.h).
//
// The loop only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/web/http_message.h"
#include "storage/base/unique_fd.h"

namespace kprof {

struct HttpLimits {
  size_t most_connections = 64;
  size_t header_bytes = 8 << 10;      // of the request line and all headers
  int64_t first_request_ms = 10'000;  // from connecting to the end of the first request
  int64_t next_request_ms = 75'000;   // longer than scrapes are apart
  int64_t answer_ms = 10'000;         // then it is a 503
  int64_t write_ms = 10'000;          // then the connection is closed
  int64_t linger_ms = 1'000;          // how long what a refused client still sends is thrown away
};

// What the connections of one server share; outlives them.
struct HttpShared {
  IoLoop& loop;
  const HttpRoutes routes;
  const HttpLimits limits;
  Family<Counter>& responses;  // by code
};

class HttpConnection {
 public:
  // `socket` is connected. `ended` is posted to the loop, once, when there is nothing more to say; not after the
  // destructor has begun.
  HttpConnection(HttpShared& shared, UniqueFd socket, std::function<void()> ended);
  // Closes it at once, whatever it is doing.
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Since when it waits for a request, on the monotonic clock; nothing while one is being answered.
  std::optional<int64_t> waits_since_ns() const;

 private:
  class Talk;
  std::shared_ptr<Talk> talk_;  // shared with its operations in flight, which come back after it was closed
};

}  // namespace kprof
