#include "daemon/web/http_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "daemon/base/log.h"

namespace kprof {
namespace {

namespace asio = boost::asio;

constexpr int kBacklog = 128;
constexpr int64_t kPauseNs = 100 * kNanosPerMilli;  // when descriptors run out

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t SizeOf(const SocketAddress& address) {
  return address.any.sa_family == AF_INET6 ? sizeof address.v6 : sizeof address.v4;
}

SocketAddress ToSocketAddress(const HttpAddress& address) {
  SocketAddress to{};
  if (address.ip.find(':') != address.ip.npos) {
    to.v6.sin6_family = AF_INET6;
    to.v6.sin6_port = htons(address.port);
    KPROF_CHECK(inet_pton(AF_INET6, address.ip.c_str(), &to.v6.sin6_addr) == 1);
  } else {
    to.v4.sin_family = AF_INET;
    to.v4.sin_port = htons(address.port);
    KPROF_CHECK(inet_pton(AF_INET, address.ip.c_str(), &to.v4.sin_addr) == 1);
  }
  return to;
}

uint16_t PortOf(int socket) {
  SocketAddress bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, &bound.any, &size) != 0) return 0;
  return ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
}

}  // namespace

HttpMetrics::HttpMetrics(Metrics& metrics, ConnectionMetrics& connections)
    : responses(metrics.AddCounters("kprof_http_responses_total", "HTTP requests answered.", {"code"})),
      open(connections.Open("http")),
      accepted(connections.Accepted("http")),
      refused(connections.Refused("http", "too_many")) {}

struct HttpServer::State {
  State(IoLoop& loop, UniqueFd socket, HttpAddress address, HttpRoutes routes, HttpMetrics& metrics,
        const HttpLimits& limits)
      : shared{loop, std::move(routes), limits, metrics.responses},
        metrics(metrics),
        listener(loop.context(), socket.Release()),
        address(std::move(address)) {}

  ~State() { metrics.open.Subtract(static_cast<double>(connections.size())); }

  void WaitForNext() {
    // It may come back, and with good news, when we are gone.
    listener.async_wait(asio::posix::stream_descriptor::wait_read,
                        [this, alive = std::weak_ptr<bool>(alive)](const boost::system::error_code& error) {
                          if (!error && !alive.expired()) AcceptAll();
                        });
  }

  void AcceptAll() {
    while (true) {
      UniqueFd socket(::accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket.valid()) {
        Take(std::move(socket));
        continue;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return WaitForNext();
      LogWarning("cannot accept an HTTP connection", {{"error", std::strerror(errno)}});
      pause = shared.loop.After(kPauseNs, [this] { AcceptAll(); });
      return;
    }
  }

  void Take(UniqueFd socket) {
    if (connections.size() >= shared.limits.most_connections && !MakePlace()) return metrics.refused.Add();
    const int one = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const uint64_t number = ++last_number;
    connections[number] =
        std::make_unique<HttpConnection>(shared, std::move(socket), [this, number] { Remove(number); });
    metrics.accepted.Add();
    metrics.open.Add();
  }

  // Closes the connection that has waited for a request the longest.
  bool MakePlace() {
    auto oldest = connections.end();
    for (auto it = connections.begin(); it != connections.end(); ++it) {
      if (!it->second->waits_since_ns()) continue;
      if (oldest == connections.end() || *it->second->waits_since_ns() < *oldest->second->waits_since_ns()) oldest = it;
    }
    if (oldest == connections.end()) return false;
    Remove(oldest->first);
    return true;
  }

  void Remove(uint64_t number) {
    if (connections.erase(number) > 0) metrics.open.Subtract();
  }

  HttpShared shared;
  HttpMetrics& metrics;
  asio::posix::stream_descriptor listener;
  const HttpAddress address;
  const std::shared_ptr<bool> alive = std::make_shared<bool>(true);  // shared with no one: others only look
  IoLoop::Timer pause;
  uint64_t last_number = 0;
  std::map<uint64_t, std::unique_ptr<HttpConnection>> connections;
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() = default;

const HttpAddress& HttpServer::address() const {
  return state_->address;
}

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(IoLoop& loop, const HttpAddress& address, HttpRoutes routes,
                                                       HttpMetrics& metrics, const HttpLimits& limits) {
  KPROF_ON_IO_LOOP(loop);
  const std::string what = "listen for HTTP at " + HttpAddressText(address);
  const SocketAddress to = ToSocketAddress(address);
  UniqueFd socket(::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return FailErrno(errno, what);
  const int one = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);  // after a restart, at once
  if (::bind(socket.get(), &to.any, SizeOf(to)) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    const std::string remedy = "choose another port with --http, or --http off";
    if (errno == EADDRINUSE) return Fail(ErrorCode::kUsage, what, "the port is taken", remedy);
    return FailErrno(errno, what, remedy);
  }
  const HttpAddress got{address.ip, PortOf(socket.get())};
  auto state = std::make_unique<State>(loop, std::move(socket), got, std::move(routes), metrics, limits);
  state->WaitForNext();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

}  // namespace kprof
