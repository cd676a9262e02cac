// Shakes hands on one connection: from accept until its certificate is verified, or the connection is refused and the
// client has been told why. Bounded in time, by kLimit in all, and in memory, by what TLS allows for a certificate
// chain.
//
// Acceptor's thread only (tls_acceptor.h). Held by shared_ptr: asio still calls waits that were cancelled.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "daemon/net/tcp_listener.h"
#include "daemon/net/tls_credentials.h"
#include "daemon/net/tls_refusal.h"
#include "storage/base/descriptors.h"

namespace kprof {

class TlsHandshake : public std::enable_shared_from_this<TlsHandshake> {
 public:
  static constexpr std::chrono::seconds kLimit{10};
  // The end of a handshake.
  struct Outcome {
    SslPtr ssl;  // null: refused, or it hung up
    UniqueFd socket;
    TlsRefusal refusal = TlsRefusal::kOther;
  };
  // Called once, last of all.
  using Done = std::function<void(Outcome)>;

  TlsHandshake(boost::asio::io_context& context, UniqueFd socket, PeerAddress peer,
               std::shared_ptr<const TlsCredentials> credentials);
  ~TlsHandshake();

  void Begin(Done done);
  // Ends it at once, without calling back.
  void Drop();

  const PeerAddress& peer() const { return peer_; }
  const std::shared_ptr<const TlsCredentials>& credentials() const { return credentials_; }

 private:
  using Handler = void (TlsHandshake::*)();
  void Advance();
  void WaitFor(boost::asio::posix::stream_descriptor::wait_type what, Handler then);
  void BeginToLeave(TlsRefusal refusal);
  void Discard();
  void Finish(bool admitted);

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  const PeerAddress peer_;
  const std::shared_ptr<const TlsCredentials> credentials_;  // a reload makes others for later ones
  SslPtr ssl_;
  Done done_;
  TlsRefusal refusal_ = TlsRefusal::kSilent;
  size_t discarded_bytes_ = 0;
  bool over_ = false;
};

}  // namespace kprof
