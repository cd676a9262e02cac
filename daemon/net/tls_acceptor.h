// Remote clients: takes TCP connections, has them shake hands over TLS with a certificate of their own, finds out by
// the rules who they are, and hands on a plain socket for each, as the local acceptor does: gRPC never sees a byte of
// somebody who is nobody, and a handler's caller is fixed by construction. There is no plaintext TCP.
//
// Two threads of its own, so that a flood of handshakes stands in nobody's way: one accepts and shakes hands, the other
// carries the bytes of those who are in (tls_relay.h). Never the io loop, which only hears of the ones who are in.
//
// What is bounded, and what happens when full: handshakes, in all and per host (the oldest of them makes room);
// connections in all (the new one is closed before it costs a handshake) and per certificate (after it). Who is refused
// is counted, told by a TLS alert where the handshake got that far, and logged with a bound (tls_refusal.h).
//
// A certificate that verifies, but that no rule knows, makes a caller of Role::kNone: whoever serves it refuses each
// call in words, which an alert cannot carry. These have a few places of their own, of which the oldest makes room, so
// that however many there are, they take none from those who have a role.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/access/caller.h"
#include "daemon/base/io_loop.h"
#include "daemon/net/tls_credentials.h"
#include "daemon/net/tls_refusal.h"
#include "storage/base/descriptors.h"

namespace kprof {

struct TlsLimits {
  int64_t connections = 256;
  int64_t connections_per_certificate = 64;
  int64_t handshakes = 128;
  int64_t handshakes_per_host = 32;
  int64_t connections_without_role = 32;  // beside `connections`, and of all certificates together
  bool operator==(const TlsLimits&) const = default;
};

// Since the start, but for the two that say how it is now.
struct TlsCounts {
  int64_t accepted = 0;
  int64_t admitted = 0;
  int64_t handshakes_now = 0;
  int64_t connections_now = 0;  // of those who have a role
  int64_t without_role_now = 0;
  std::array<int64_t, kTlsRefusals> refused{};
};

class TlsAcceptor {
 public:
  // Called on the io loop for each connection, until the acceptor is destroyed; owns it. Dropping it ends it.
  using Connected = std::function<void(const Caller&, UniqueFd)>;
  // Called for each that is refused, on threads of the acceptor's, until it is destroyed; must not block.
  using Refused = std::function<void(TlsRefusal)>;

  // Takes connections from `listener` (tcp_listener.h) from here on. `loop` must outlive it.
  TlsAcceptor(IoLoop& loop, UniqueFd listener, std::shared_ptr<const TlsCredentials> credentials,
              const TlsLimits& limits, Connected connected, Refused refused = nullptr);
  // Io loop, or while it stands: ends all connections, and calls nobody any more.
  ~TlsAcceptor();
  TlsAcceptor(const TlsAcceptor&) = delete;
  TlsAcceptor& operator=(const TlsAcceptor&) = delete;

  // From here on these count. Handshakes that have begun go on, and are judged by these at their end; connections whose
  // certificate does not hold any more, or has become another caller, are ended. Any thread.
  void Use(std::shared_ptr<const TlsCredentials> credentials, const TlsLimits& limits);

  // Takes no more connections and drops the handshakes; those who are in go on until the destructor. Any thread; done
  // when it returns.
  void StopListening();

  // That, and ends those who are in. Any thread; nobody comes in any more when it returns.
  void EndAll();

  TlsCounts counts() const;  // any thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kprof
