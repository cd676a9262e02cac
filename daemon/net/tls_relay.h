// The connections that were let in: a thread of its own that carries their bytes between TLS and gRPC, as long as their
// certificates hold. A connection that neither sends nor reads costs the others nothing but its place: what is held for
// it is bounded (tls_pump.h), and each gets its turn after 64 KiB.
//
// It ends a connection whose certificate expires, one that says nothing within ten seconds of its handshake (an HTTP/2
// client speaks at once; from there on gRPC ends the idle ones), and one whose peer does not take the end that gRPC
// makes within ten. A peer that vanished without a word is noticed by TCP's keepalive, after a minute and a half.
//
// Any thread.
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
    uint64_t id;  // no other one's
    SslPtr ssl;   // has shaken hands on `tls`
    UniqueFd tls;
    UniqueFd plain;
    PeerAddress peer;
    Caller caller;
    CertificateFacts certificate;
  };
  // That connection has ended; `why` where it was us who ended it. Called on the relay's thread.
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

  // Ends that one, without a reason, where it still lives.
  void Drop(uint64_t id);

  // Ends those whose certificate does not hold any more by these, or has become another caller.
  void Judge(std::shared_ptr<const TlsCredentials> credentials);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kprof
