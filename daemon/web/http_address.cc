#include "daemon/web/http_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace kprof {
namespace {

constexpr std::string_view kLocalhost = "localhost";

struct HostAndPort {
  std::string_view host;                 // without brackets
  bool bracketed = false;                // an IPv6 address
  std::optional<std::string_view> port;  // what stood after the colon
};

// Nothing when it is neither HOST, HOST:PORT, [HOST] nor [HOST]:PORT.
std::optional<HostAndPort> Split(std::string_view text) {
  HostAndPort parts;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == text.npos) return std::nullopt;
    parts.bracketed = true;
    parts.host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    parts.host = text.substr(0, end);
    rest = text.substr(end);
  }
  if (rest.empty()) return parts;
  if (rest[0] != ':') return std::nullopt;
  parts.port = rest.substr(1);
  return parts;
}

std::optional<uint16_t> PortOf(std::string_view text) {
  uint16_t port = 0;
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return port;
}

bool IsLocalhost(std::string_view host) {
  auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); };
  return std::equal(kLocalhost.begin(), kLocalhost.end(), host.begin(), host.end(), same);
}

// In its usual spelling; nothing when it is no address of the loopback.
std::optional<std::string> LoopbackIp(const HostAndPort& parts) {
  const std::string host(parts.host);
  if (parts.bracketed) {
    in6_addr address{};
    if (inet_pton(AF_INET6, host.c_str(), &address) != 1 || !IN6_IS_ADDR_LOOPBACK(&address)) return std::nullopt;
    return "::1";
  }
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1 || ntohl(address.s_addr) >> 24 != 127) return std::nullopt;
  return host;
}

}  // namespace

Result<std::optional<HttpAddress>> ParseHttpAddress(const std::string& text) {
  if (text == "off") return std::optional<HttpAddress>();
  const std::string what = "listen for HTTP at '" + text + "'";
  const std::string example = "write 127.0.0.1:" + std::to_string(kDefaultHttpPort) + ", [::1]:PORT or off";
  std::optional<HostAndPort> parts = Split(text);
  std::optional<uint16_t> port = parts && parts->port ? PortOf(*parts->port) : std::nullopt;
  if (!port) return Fail(ErrorCode::kUsage, what, "it is no ADDRESS:PORT", example);
  if (!parts->bracketed && IsLocalhost(parts->host)) return std::optional(HttpAddress{"127.0.0.1", *port});
  std::optional<std::string> ip = LoopbackIp(*parts);
  if (!ip) {
    return Fail(ErrorCode::kUsage, what,
                "it is no address of the loopback, and what is served there asks nobody who they are",
                example + "; from other machines use ssh -L, or a proxy that authenticates");
  }
  return std::optional(HttpAddress{*std::move(ip), *port});
}

std::string HttpAddressText(const HttpAddress& address) {
  const bool is_v6 = address.ip.find(':') != address.ip.npos;
  return (is_v6 ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

bool IsLoopbackHost(std::string_view host) {
  std::optional<HostAndPort> parts = Split(host);
  if (!parts || (parts->port && !PortOf(*parts->port))) return false;
  return (!parts->bracketed && IsLocalhost(parts->host)) || LoopbackIp(*parts).has_value();
}

}  // namespace kprof
