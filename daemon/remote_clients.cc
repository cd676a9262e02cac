#include "daemon/remote_clients.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>

#include "daemon/access/certificate_identity.h"
#include "daemon/base/log.h"
#include "daemon/net/tcp_listener.h"

namespace kprof {
namespace {

constexpr int64_t kWarnEveryNs = 3600 * kNanosPerSecond;

void LogWhatIsNotInForce(const TlsCredentials& credentials) {
  const Status in_force = credentials.CheckInForce(std::time(nullptr));
  if (!in_force.ok()) LogError("remote clients will not get in", {{"error", in_force.ToString()}});
}

// Who has no role is let in, to be told so, and counted by whoever tells.
TlsAcceptor::Refused CountRefusals(ConnectionMetrics& connections) {
  return [&connections](TlsRefusal refusal) {
    if (refusal == TlsRefusal::kNoRole) return;
    connections.Refused("tcp", std::string(TlsRefusalName(refusal))).Add();
  };
}

}  // namespace

Result<std::unique_ptr<RemoteClients>> RemoteClients::Start(IoLoop& loop, const ListenConfig& config,
                                                            TlsAcceptor::Connected connected,
                                                            ConnectionMetrics& connections, Gauge& first_expiry) {
  if (config.address.empty()) return std::unique_ptr<RemoteClients>();
  ASSIGN_OR_RETURN(std::shared_ptr<const TlsCredentials> credentials, LoadListen(config));
  ASSIGN_OR_RETURN(UniqueFd listener, ListenAt(config.address));
  std::unique_ptr<RemoteClients> clients(new RemoteClients(loop, std::move(listener), config, credentials,
                                                           std::move(connected), connections, first_expiry));
  LogWhatIsNotInForce(*credentials);
  LogInfo("listening for remote clients", {{"address", clients->address()}});
  return clients;
}

RemoteClients::RemoteClients(IoLoop& loop, UniqueFd listener, const ListenConfig& config,
                             std::shared_ptr<const TlsCredentials> credentials, TlsAcceptor::Connected connected,
                             ConnectionMetrics& connections, Gauge& first_expiry)
    : loop_(loop),
      first_expiry_(first_expiry),
      address_(ListenAddressOf(listener.get())),
      acceptor_(loop, std::move(listener), credentials, config.limits, std::move(connected),
                CountRefusals(connections)) {
  loop_.Post([this, credentials] { WatchExpiry(credentials); });
}

void RemoteClients::Use(const std::shared_ptr<const TlsCredentials>& credentials, const TlsLimits& limits) {
  if (credentials == nullptr) {
    acceptor_.EndAll();
    return loop_.Post([this] { EndService(); });
  }
  LogWhatIsNotInForce(*credentials);
  acceptor_.Use(credentials, limits);
  loop_.Post([this, credentials] { WatchExpiry(credentials); });
}

void RemoteClients::EndService() {
  if (!std::exchange(serves_, false)) return;
  warn_timer_.Cancel();
  first_expiry_.Set(0);
  LogInfo("remote clients are not served any more", {{"address", address_}});
}

void RemoteClients::WatchExpiry(std::shared_ptr<const TlsCredentials> credentials) {
  watched_ = std::move(credentials);
  if (!serves_) return;
  int64_t first_unix_s = INT64_MAX;
  for (const Expiry& expiry : watched_->Expiries()) first_unix_s = std::min(first_unix_s, expiry.unix_s);
  first_expiry_.Set(static_cast<double>(first_unix_s));
  WarnOfExpiry();
}

void RemoteClients::WarnOfExpiry() {
  for (const ExpiryWarning& warning : warnings_.TakeDue(watched_->Expiries(), std::time(nullptr))) {
    const std::string date = DateText(warning.expiry.unix_s);
    if (warning.days_left < 0) {
      LogError("something of TLS has expired", {{"what", warning.expiry.what}, {"on", date}});
    } else {
      LogWarning("something of TLS expires soon; put a new one in its place, then reload",
                 {{"what", warning.expiry.what}, {"on", date}, {"days_left", std::to_string(warning.days_left)}});
    }
  }
  warn_timer_ = loop_.After(kWarnEveryNs, [this] { WarnOfExpiry(); });
}

}  // namespace kprof
