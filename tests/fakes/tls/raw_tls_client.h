// A TLS client as a test wants it: which versions, which certificate, which protocols, what it says and when. Blocks; a
// bound on each wait only catches hangs.
#pragma once

#include <cstdint>
#include <string>

#include "storage/base/descriptors.h"
#include "storage/crypto/openssl_handles.h"

namespace kprof {

// A TCP connection to this port of 127.0.0.1; not valid when it is refused.
UniqueFd ConnectTcp(uint16_t port);
// All that comes until the other side ends or resets it.
std::string ReadToEnd(int socket);

class RawTlsClient {
 public:
  struct Wish {
    std::string certificate_pem;  // empty: shows none
    std::string key_pem;
    std::string ca_pem;  // empty: trusts whoever answers
    int least_version = TLS1_2_VERSION;
    int most_version = TLS1_3_VERSION;
    std::string protocol = "h2";  // empty: asks for none
  };

  // Connects and shakes hands.
  RawTlsClient(uint16_t port, const Wish& wish) : RawTlsClient(ConnectTcp(port), wish) {}
  // Shakes hands on a connection that is there already.
  RawTlsClient(UniqueFd socket, const Wish& wish);

  bool shaken() const { return shaken_; }
  // The alert that the server sent, as TLS numbers them, or 0; of the handshake, or of what was read after it: a
  // TLS 1.3 server judges the client's certificate when the client has finished.
  int alert() const { return alert_; }
  const char* version() const { return SSL_get_version(ssl_.get()); }

  bool Write(const std::string& bytes);
  // Some bytes; empty at the end, or when it breaks.
  std::string Read();
  // So many, or up to the end.
  std::string ReadAll(size_t bytes);
  void ShutDown() { SSL_shutdown(ssl_.get()); }
  int socket() const { return socket_.get(); }
  SSL* ssl() { return ssl_.get(); }

 private:
  void Note(int result);
  UniqueFd socket_;
  SslContextPtr context_;
  SslPtr ssl_;
  bool shaken_ = false;
  int alert_ = 0;
};

}  // namespace kprof
