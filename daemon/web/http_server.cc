#include "daemon/web/http_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/web/http_address.h"

namespace kprof {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

// What is after the header of a request that is refused.
constexpr size_t kMostIgnoredBytes = 64 << 10;

// "Sat, 21 Nov 2026 10:00:00 GMT"
std::string HttpDate(int64_t unix_ns) {
  const std::time_t seconds = unix_ns / kNanosPerSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40];
  const size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return std::string(text, size);
}

HttpResponse Refusal(int status, const std::string& why) {
  HttpResponse response;
  response.status = status;
  response.body = why + "\n";
  return response;
}

HttpResponse RefusalOf(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Refusal(431, "the request's header is too long");
  }
  if (error == http::error::body_limit) return Refusal(413, "a request here has no body");
  if (error == http::error::bad_version) return Refusal(505, "this server speaks HTTP/1.1");
  return Refusal(400, "this is no HTTP request");
}

}  // namespace

class HttpConnection::Talk : public std::enable_shared_from_this<Talk> {
 public:
  Talk(HttpShared& shared, UniqueFd socket, std::function<void()> ended)
      : shared_(shared),
        socket_(shared.loop.context(), asio::generic::stream_protocol(AF_INET, 0), socket.Release()),
        buffer_(shared.limits.header_bytes + kReadAheadBytes),
        ended_(std::move(ended)) {}

  void ReadRequest(int64_t limit_ms) {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_.limits.header_bytes));
    parser_->body_limit(0);
    is_head_ = false;
    waits_since_ns_ = shared_.loop.clock().mono_ns();
    deadline_ = After(limit_ms, [this] { End(); });
    http::async_read_header(socket_, buffer_, *parser_,
                            [self = shared_from_this()](const error_code& error, size_t) { self->OnRequest(error); });
  }

  // At once. Nothing is answered and nobody is told any more.
  void Close() {
    ended_ = nullptr;
    closed_ = true;
    deadline_ = IoLoop::Timer();
    error_code ignored;
    socket_.close(ignored);
  }

  std::optional<int64_t> waits_since_ns() const { return waits_since_ns_; }

 private:
  static constexpr size_t kReadAheadBytes = 4096;  // of the next request, when a client sends several at once

  IoLoop::Timer After(int64_t ms, std::function<void()> task) {
    // Timers go with the talk, so they may use it as it is.
    return shared_.loop.After(ms * kNanosPerMilli, std::move(task));
  }

  // There is nothing more to say; whoever owns us closes.
  void End() {
    deadline_ = IoLoop::Timer();
    if (auto ended = std::exchange(ended_, nullptr)) shared_.loop.Post(std::move(ended));
  }

  void OnRequest(const error_code& error) {
    if (closed_) return;
    waits_since_ns_.reset();
    deadline_ = IoLoop::Timer();
    if (error) {
      // Whoever goes between two requests, or is cut off, is told nothing.
      const bool is_http = error.category() == http::make_error_code(http::error::bad_version).category();
      if (!is_http || error == http::error::end_of_stream || error == http::error::partial_message) return End();
      keep_alive_ = false;
      return Write(RefusalOf(error));
    }
    const auto& header = parser_->get();
    is_head_ = header.method() == http::verb::head;
    version_ = header.version();
    keep_alive_ = parser_->keep_alive();
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    if (has_body) {
      keep_alive_ = false;
      return Write(Refusal(413, "a request here has no body"));
    }
    if (std::optional<HttpResponse> refusal = WhyNot(header)) return Write(*std::move(refusal));
    HttpRequest request;
    const std::string target(header.target());
    const size_t query = std::min(target.find('?'), target.size());
    request.path = target.substr(0, query);
    request.query = query < target.size() ? target.substr(query + 1) : "";
    Answer(request);
  }

  std::optional<HttpResponse> WhyNot(const http::request_header<>& header) const {
    const auto hosts =
        std::distance(header.equal_range(http::field::host).first, header.equal_range(http::field::host).second);
    if (hosts > 1 || (hosts == 0 && version_ >= 11)) return Refusal(400, "a request names one Host");
    if (hosts == 1 && !IsLoopbackHost(header[http::field::host].to_string())) {
      return Refusal(421, "this server is asked as localhost or 127.0.0.1 only");
    }
    if (!header.target().starts_with('/')) return Refusal(400, "a request's target begins with a /");
    return std::nullopt;
  }

  void Answer(const HttpRequest& request) {
    auto route = shared_.routes.find(request.path);
    if (route == shared_.routes.end()) return Write(Refusal(404, "there is nothing here"));
    const http::verb method = parser_->get().method();
    if (method != http::verb::get && method != http::verb::head) {
      HttpResponse refusal = Refusal(405, "this can be read, and nothing else");
      refusal.headers.emplace_back("Allow", "GET, HEAD");
      return Write(std::move(refusal));
    }
    const uint64_t number = ++answering_;
    deadline_ = After(shared_.limits.answer_ms, [this] {
      ++answering_;
      Write(Refusal(503, "the answer took too long"));
    });
    // It may come when we are gone, or after we have given up on it.
    route->second(request, [weak = weak_from_this(), number, &loop = shared_.loop](HttpResponse response) {
      loop.Post([weak, number, response = std::move(response)]() mutable {
        std::shared_ptr<Talk> self = weak.lock();
        if (self && !self->closed_ && self->answering_ == number) self->Write(std::move(response));
      });
    });
  }

  void Write(HttpResponse response) {
    ++answering_;
    shared_.responses.With({std::to_string(response.status)}).Add();
    response_ =
        http::response<http::string_body>(http::int_to_status(static_cast<unsigned>(response.status)), version_);
    response_.set(http::field::date, HttpDate(shared_.loop.clock().unix_ns()));
    response_.set(http::field::content_type, response.content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response.headers) response_.insert(name, value);
    response_.content_length(response.body.size());
    response_.keep_alive(keep_alive_);
    if (!is_head_) response_.body() = std::move(response.body);
    deadline_ = After(shared_.limits.write_ms, [this] { End(); });
    http::async_write(socket_, response_,
                      [self = shared_from_this()](const error_code& error, size_t) { self->OnWritten(error); });
  }

  void OnWritten(const error_code& error) {
    if (closed_) return;
    response_ = {};
    if (error) return End();
    if (keep_alive_) return ReadRequest(shared_.limits.next_request_ms);
    // What the client still sends must be taken, or the kernel would throw away our answer with a reset.
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
    deadline_ = After(shared_.limits.linger_ms, [this] { End(); });
    Ignore(0);
  }

  void Ignore(size_t bytes) {
    if (bytes > kMostIgnoredBytes) return End();
    socket_.async_read_some(asio::buffer(ignored_),
                            [self = shared_from_this(), bytes](const error_code& error, size_t more) {
                              if (self->closed_) return;
                              if (error) return self->End();
                              self->Ignore(bytes + more);
                            });
  }

  HttpShared& shared_;
  asio::generic::stream_protocol::socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::array<char, 1024> ignored_;
  std::function<void()> ended_;  // none once it was called
  IoLoop::Timer deadline_;
  std::optional<int64_t> waits_since_ns_;
  uint64_t answering_ = 0;  // which answer is waited for: later ones than that are for nobody
  unsigned version_ = 11;
  bool is_head_ = false;
  bool keep_alive_ = false;
  bool closed_ = false;
};

HttpConnection::HttpConnection(HttpShared& shared, UniqueFd socket, std::function<void()> ended)
    : talk_(std::make_shared<Talk>(shared, std::move(socket), std::move(ended))) {
  talk_->ReadRequest(shared.limits.first_request_ms);
}

HttpConnection::~HttpConnection() {
  talk_->Close();
}

std::optional<int64_t> HttpConnection::waits_since_ns() const {
  return talk_->waits_since_ns();
}

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
