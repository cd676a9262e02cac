#include "daemon/net/tcp_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace kprof {
namespace {

constexpr int kTcpBacklog = 512;
constexpr size_t kHostBytes6 = 8;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<SocketAddress> Parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  uint16_t port = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end) return std::nullopt;
  std::string host = text.substr(0, colon);
  SocketAddress address;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) != 1) return std::nullopt;
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.size = sizeof v6;
    return address;
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) != 1) return std::nullopt;
  std::memcpy(&address.storage, &v4, sizeof v4);
  address.size = sizeof v4;
  return address;
}

std::string Text4(const in_addr& address) {
  char text[INET_ADDRSTRLEN];
  return ::inet_ntop(AF_INET, &address, text, sizeof text) != nullptr ? text : "?";
}

std::string Text6(const in6_addr& address) {
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(AF_INET6, &address, text, sizeof text) != nullptr ? text : "?";
}

}  // namespace

Status CheckListenAddress(const std::string& text) {
  if (Parse(text)) return OkStatus();
  return Fail(ErrorCode::kUsage, "listen at " + text, "it is no address and port in numbers",
              "write it like 0.0.0.0:7443 or [::]:7443, or off");
}

Result<UniqueFd> ListenAt(const std::string& text) {
  RETURN_IF_ERROR(CheckListenAddress(text));
  const std::string what = "listen at " + text;
  const SocketAddress address = *Parse(text);
  UniqueFd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return FailErrno(errno, what);
  const int on = 1;
  const int off = 0;
  // After a restart, connections of the last daemon that are still ending do not hold the port.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 ||
      ::listen(socket.get(), kTcpBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(ErrorCode::kUsage, what, "another program listens there", "choose another port with --listen");
    }
    if (errno == EADDRNOTAVAIL) {
      return Fail(ErrorCode::kUsage, what, "this node does not have that address", "choose one of its own, or 0.0.0.0");
    }
    return FailErrno(errno, what);
  }
  return socket;
}

std::string ListenAddressOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  return PeerAddress::Of(address).text;
}

PeerAddress PeerAddress::Of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    const std::string host = Text4(v4.sin_addr);
    return {host + ":" + std::to_string(ntohs(v4.sin_port)), host};
  }
  if (address.ss_family != AF_INET6) return {"?", "?"};
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  const std::string port = std::to_string(ntohs(v6.sin6_port));
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    in_addr v4{};
    std::memcpy(&v4, v6.sin6_addr.s6_addr + 12, sizeof v4);
    const std::string host = Text4(v4);
    return {host + ":" + port, host};
  }
  in6_addr network = v6.sin6_addr;
  std::memset(network.s6_addr + kHostBytes6, 0, sizeof network.s6_addr - kHostBytes6);
  return {"[" + Text6(v6.sin6_addr) + "]:" + port, Text6(network) + "/64"};
}

}  // namespace kprof
