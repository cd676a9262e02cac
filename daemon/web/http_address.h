// The address of the HTTP server, and the hosts by whose name it may be asked: loopback, and nothing else. Its pages
// are for everybody on this machine; others come through ssh -L or a proxy that asks who they are. Functions of their
// arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/status.h"

namespace kprof {

struct HttpAddress {
  std::string ip;     // of 127.0.0.0/8, or "::1"
  uint16_t port = 0;  // 0: any free one
  bool operator==(const HttpAddress&) const = default;
};

// The daemon's port when nobody names another. Not assigned at IANA (7968 to 7978 are free), and outside of what Linux
// hands out to clients (from 32768) and of 9100 to 9999, of which Prometheus' own list is full.
inline constexpr uint16_t kDefaultHttpPort = 7977;

// "127.0.0.1:7977", "[::1]:7977", "localhost:7977" or "off", which is nothing. Fails with kUsage, also for addresses
// that are not loopback.
Result<std::optional<HttpAddress>> ParseHttpAddress(const std::string& text);

// "127.0.0.1:7977", "[::1]:7977"
std::string HttpAddressText(const HttpAddress& address);

// True if a Host header names this machine's loopback, with any port or none: "localhost:8080" comes through an ssh
// tunnel. Any other name is of a web page that had it resolved to 127.0.0.1 in order to read us with its visitor's
// browser.
bool IsLoopbackHost(std::string_view host);

}  // namespace kprof
