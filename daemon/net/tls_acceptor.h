// Accepts remote clients: takes TCP connections, shakes hands over TLS with a certificate of the client's, finds the
// caller by the rules, and hands on a plain socket for each, as local_acceptor.h does. So gRPC sees no byte of a client
// without a good certificate, and a handler's caller is fixed by construction. There is no plaintext TCP.
//
// Two threads of its own keep a flood of handshakes out of everybody's way: one accepts and shakes hands, the other
// carries the bytes of admitted connections (tls_relay.h). The io loop hears of admitted connections alone.
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

// Counts since the start; those that end in _now are of this moment.
struct TlsCounts {
  int64_t accepted = 0;
  int64_t admitted = 0;
  int64_t handshakes_now = 0;
  int64_t connections_now = 0;  // of callers who have a role
  int64_t without_role_now = 0;
  std::array<int64_t, kTlsRefusals> refused{};
};

// Bounds: handshakes in all and per host (the oldest of them makes room); connections in all (a new one is closed
// before its handshake) and per certificate (after it). A refusal is counted, told by a TLS alert where the handshake
// got that far, and logged with a bound (tls_refusal.h).
//
// A certificate that verifies, but matches no rule, makes a caller of Role::kNone, whose server refuses each call in
// words: an alert cannot carry these. Such connections have a few places of their own; the oldest of them makes room.
class TlsAcceptor {
 public:
  // Called on the io loop for each connection, until the acceptor is destroyed; owns the connection. Dropping it ends
  // it.
  using Connected = std::function<void(const Caller&, UniqueFd)>;
  // Called for each refusal, on threads of the acceptor's, until it is destroyed; must not block.
  using Refused = std::function<void(TlsRefusal)>;

  // Takes connections from `listener` (tcp_listener.h) from here on. `loop` must outlive it.
  TlsAcceptor(IoLoop& loop, UniqueFd listener, std::shared_ptr<const TlsCredentials> credentials,
              const TlsLimits& limits, Connected connected, Refused refused = nullptr);
  // Ends all connections, and calls nobody any more. On the io loop, or while that stands.
  ~TlsAcceptor();
  TlsAcceptor(const TlsAcceptor&) = delete;
  TlsAcceptor& operator=(const TlsAcceptor&) = delete;

  // Takes over these settings. Handshakes that have begun go on, and are judged by these at their end. Connections are
  // ended if their certificate does not hold any more, or has become another caller. Any thread.
  void Use(std::shared_ptr<const TlsCredentials> credentials, const TlsLimits& limits);

  // Takes no more connections and drops the handshakes; admitted connections go on until the destructor. Any thread;
  // done when it returns.
  void StopListening();

  // Stops listening, and ends the admitted connections. Any thread; no connection is admitted after it returns.
  void EndAll();

  TlsCounts counts() const;  // any thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kprof
