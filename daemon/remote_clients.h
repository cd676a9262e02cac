// Listens for clients on other nodes, as the configuration says. Takes over other credentials when it is told to, also
// that there are none any more. Warns in time of credentials that are about to expire (tls_credentials.h), and shows in
// `first_expiry` when the first does. Refusals are counted by their reasons (tls_refusal.h).
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/io_loop.h"
#include "daemon/base/metrics.h"
#include "daemon/config/listen_config.h"
#include "daemon/net/tls_acceptor.h"
#include "daemon/net/tls_credentials.h"
#include "storage/base/status.h"

namespace kprof {

class RemoteClients {
 public:
  // Listens; null where the configuration has no address. `loop` and the metrics must outlive it; `connected` is called
  // on the loop. Fails with kUsage for what LoadListen or ListenAt cannot use. Expired credentials are only logged:
  // they keep remote clients out, and should not keep local ones out, too. Blocks.
  static Result<std::unique_ptr<RemoteClients>> Start(IoLoop& loop, const ListenConfig& config,
                                                      TlsAcceptor::Connected connected, ConnectionMetrics& connections,
                                                      Gauge& first_expiry);

  // Takes over certificates with their rules, as LoadListen gave them, and limits; TlsAcceptor::Use says what becomes
  // of connections. Null, where there is no address any more: all connections end, and no client comes in until the
  // next start. The address itself is only taken at a start, also one that comes back. Any thread but the io loop.
  void Use(const std::shared_ptr<const TlsCredentials>& credentials, const TlsLimits& limits);

  // From here on no new client comes in. Any thread.
  void StopListening() { acceptor_.StopListening(); }

  // The credentials in use, or the last ones that were. Io loop.
  const std::shared_ptr<const TlsCredentials>& credentials() const { return watched_; }

  TlsCounts counts() const { return acceptor_.counts(); }  // any thread
  const std::string& address() const { return address_; }  // where it really listens

 private:
  RemoteClients(IoLoop& loop, UniqueFd listener, const ListenConfig& config,
                std::shared_ptr<const TlsCredentials> credentials, TlsAcceptor::Connected connected,
                ConnectionMetrics& connections, Gauge& first_expiry);
  // These three: io loop.
  void WatchExpiry(std::shared_ptr<const TlsCredentials> credentials);
  void WarnOfExpiry();
  void EndService();

  IoLoop& loop_;
  Gauge& first_expiry_;
  std::shared_ptr<const TlsCredentials> watched_;  // io loop; the credentials in use, shared with the acceptor
  bool serves_ = true;                             // io loop; false for good once credentials were null
  ExpiryWarnings warnings_;                        // io loop
  IoLoop::Timer warn_timer_;                       // io loop
  const std::string address_;
  TlsAcceptor acceptor_;
};

}  // namespace kprof
