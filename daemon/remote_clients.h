// Clients on other nodes: what the configuration says of them, as something that listens. Reads its files anew when it
// is told to; a file that cannot be used then changes nothing, and the log says why.
#pragma once

#include <functional>
#include <memory>

#include "daemon/base/io_loop.h"
#include "daemon/listen_config.h"
#include "daemon/rpc/tls_acceptor.h"
#include "storage/base/status.h"

namespace kprof {

class RemoteClients {
 public:
  // Listens; null where the configuration has no address. `loop` must outlive it; `connected` is called there. Fails
  // with kUsage for what LoadListen or ListenAt cannot use. What has expired only stands in the log: it keeps remote
  // clients out, and should not keep local ones out, too. Blocks.
  static Result<std::unique_ptr<RemoteClients>> Start(IoLoop& loop, const ListenConfig& config,
                                                      TlsAcceptor::Connected connected);

  // Takes over certificates, rules and limits; see TlsAcceptor::Use for what becomes of connections. The address is
  // taken at the start alone. Any thread but the io loop: blocks for the files.
  void Reload(const ListenConfig& config);

  // Nobody new comes in from here on. Any thread.
  void StopListening() { acceptor_.StopListening(); }

  TlsCounts counts() const { return acceptor_.counts(); }  // any thread
  const std::string& address() const { return address_; }  // where it really listens

 private:
  RemoteClients(IoLoop& loop, UniqueFd listener, const ListenConfig& config,
                std::shared_ptr<const TlsCredentials> credentials, TlsAcceptor::Connected connected);

  const std::string address_;
  TlsAcceptor acceptor_;
};

}  // namespace kprof
