// Opens a TCP port to listen at, and names the peers that connect to it. Knows no TLS. Any thread.
#pragma once

#include <sys/socket.h>

#include <string>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Checks an address: "192.0.2.1:7443", "[2001:db8::1]:7443"; "[::]:7443" is every address of both kinds; port 0 is any
// free one. Numbers alone: a name could mean another address tomorrow. Fails with kUsage for any other text.
Status CheckListenAddress(const std::string& text);

// Listens at that address. Fails with kUsage for a bad address, one that is not this node's or one that is taken.
Result<UniqueFd> ListenAt(const std::string& text);

// The address that the socket really listens at, as it is written above.
std::string ListenAddressOf(int socket);

// The peer of a connection from outside.
struct PeerAddress {
  std::string text;  // "192.0.2.7:50111"
  // The host that limits count: the peer's IPv4 address, or the /64 of its IPv6 address, as one host has all of that.
  std::string host;
  static PeerAddress Of(const sockaddr_storage& address);
};

}  // namespace kprof
