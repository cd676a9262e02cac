// Carries the bytes of admitted connections between TLS and gRPC, on a thread of its own, as long as their certificates
// hold. A connection that neither sends nor reads costs the others nothing but its place: its memory is bounded
// (tls_pump.h), and each connection gets its turn after 64 KiB.
//
// The relay ends a connection when its certificate expires; when no byte comes within ten seconds of its handshake (an
// HTTP/2 client speaks at once; later gRPC ends the idle ones); and when gRPC has ended it and the peer does not take
// the end within ten seconds. TCP's keepalive finds a peer that vanished without a word after a minute and a half.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/net/tcp_listener.h"
#include "daemon/net/tls_credentials.h"
#include "daemon/net/tls_refusal.h"
#include "storage/base/descriptors.h"
#include "storage/crypto/openssl_handles.h"

namespace kprof {

class TlsRelay {
 public:
  struct Connection {
    uint64_t id;  // unique
    SslPtr ssl;   // has shaken hands on `tls`
    UniqueFd tls;
    UniqueFd plain;
    PeerAddress peer;
    Caller caller;
    CertificateFacts certificate;
  };
  // A connection that has ended. `why`: the reason, where the relay refused it. Told on the relay's thread.
  struct Gone {
    uint64_t id;
    PeerAddress peer;
    Caller caller;
    std::string fingerprint;
    std::optional<TlsRefusal> why;
  };
  using Ended = std::function<void(const Gone&)>;

  explicit TlsRelay(Ended ended);
  // Ends all connections.
  ~TlsRelay();
  TlsRelay(const TlsRelay&) = delete;
  TlsRelay& operator=(const TlsRelay&) = delete;

  void Take(Connection connection);

  // Ends that connection, without a reason, if it still lives.
  void Drop(uint64_t id);

  // Ends connections whose certificate does not hold under these, or has become another caller.
  void Judge(std::shared_ptr<const TlsCredentials> credentials);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kprof
