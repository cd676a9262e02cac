// A TCP port to listen at, and who connects to it. Knows no TLS. Any thread.
#pragma once

#include <sys/socket.h>

#include <string>

#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Where `text` says: "192.0.2.1:7443", "[2001:db8::1]:7443"; "[::]:7443" is every address of both kinds. Numbers alone:
// a name could mean another address tomorrow. Fails with kUsage for what is no such address; port 0 is one: any free
// one.
Status CheckListenAddress(const std::string& text);

// Listens there. Fails with kUsage for a bad address, one that is not this node's or one that is taken.
Result<UniqueFd> ListenAt(const std::string& text);

// As it is written above: where the socket really listens.
std::string ListenAddressOf(int socket);

// One end of a connection from outside.
struct PeerAddress {
  std::string text;  // "192.0.2.7:50111"
  // Whom the peer counts as: its IPv4 address; of IPv6 the /64, of which one host has all.
  std::string host;
  static PeerAddress Of(const sockaddr_storage& address);
};

}  // namespace kprof
