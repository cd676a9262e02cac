#include "daemon/remote_clients.h"

#include <ctime>
#include <utility>

#include "daemon/base/log.h"
#include "daemon/rpc/tcp_listener.h"

namespace kprof {
namespace {

void LogWhatIsNotInForce(const TlsCredentials& credentials) {
  const Status in_force = credentials.CheckInForce(std::time(nullptr));
  if (!in_force.ok()) LogError("remote clients will not get in", {{"error", in_force.ToString()}});
}

}  // namespace

Result<std::unique_ptr<RemoteClients>> RemoteClients::Start(IoLoop& loop, const ListenConfig& config,
                                                            TlsAcceptor::Connected connected) {
  if (config.address.empty()) return std::unique_ptr<RemoteClients>();
  ASSIGN_OR_RETURN(std::shared_ptr<const TlsCredentials> credentials, LoadListen(config));
  ASSIGN_OR_RETURN(UniqueFd listener, ListenAt(config.address));
  std::unique_ptr<RemoteClients> clients(
      new RemoteClients(loop, std::move(listener), config, credentials, std::move(connected)));
  LogWhatIsNotInForce(*credentials);
  LogInfo("listening for remote clients", {{"address", clients->address()}});
  return clients;
}

RemoteClients::RemoteClients(IoLoop& loop, UniqueFd listener, const ListenConfig& config,
                             std::shared_ptr<const TlsCredentials> credentials, TlsAcceptor::Connected connected)
    : address_(ListenAddressOf(listener.get())),
      acceptor_(loop, std::move(listener), std::move(credentials), config.limits, std::move(connected)) {}

void RemoteClients::Reload(const ListenConfig& config) {
  if (config.address.empty()) {
    LogWarning("remote clients are served until the next start", {{"address", address_}});
    return;
  }
  Result<std::shared_ptr<const TlsCredentials>> credentials = LoadListen(config);
  if (!credentials.ok()) {
    LogError("certificates and rules stay as they are", {{"error", credentials.status().ToString()}});
    return;
  }
  LogWhatIsNotInForce(**credentials);
  acceptor_.Use(*credentials, config.limits);
}

}  // namespace kprof
