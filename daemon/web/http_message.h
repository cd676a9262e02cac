// What the HTTP server and those who answer say to each other: plain values, nothing of sockets.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kprof {

// A GET or a HEAD, which are answered alike: the server leaves out the body of the latter.
struct HttpRequest {
  std::string path;   // "/metrics": as it came, nothing is decoded
  std::string query;  // what stood after '?'
};

struct HttpResponse {
  int status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;  // besides those that every response has
};

// Called once, from any thread. One that never comes costs the client a 503, later ones are for nobody.
using HttpRespond = std::function<void(HttpResponse)>;
// Called on the server's loop, where it must not block: what takes time goes to a worker, which responds.
using HttpHandler = std::function<void(const HttpRequest&, HttpRespond)>;
// By whole path.
using HttpRoutes = std::map<std::string, HttpHandler, std::less<>>;

}  // namespace kprof
