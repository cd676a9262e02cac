// Builds every part in order, hands each what it needs, stops them in reverse. It is the only place that sees all
// rooms.
//
// The thread that calls Start and Stop is the main thread; the io loop runs on one of its own.
#pragma once

#include <memory>

#include "daemon/config/config.h"
#include "daemon/net/tls_credentials.h"
#include "daemon/systemd/service_manager.h"
#include "storage/base/status.h"

namespace kprof {

class Daemon {
 public:
  // Opens the catalog, recovers what a crash left, and listens: at the service manager's socket where that passed one
  // on, else at its own. Answers the service manager's watchdog from then on. It serves when this returns.
  static Result<std::unique_ptr<Daemon>> Start(const Config& config, ServiceManager& manager);

  // Takes over the settings that can change while it serves: roles, limits, retention, the log's level. Callers come
  // anew when roles change. `credentials`: what LoadListen gave for these settings; null ends the service of remote
  // clients. The log says which settings wait for the next start.
  void Reload(const Config& config, const std::shared_ptr<const TlsCredentials>& credentials);
  // For the audit: a reload took over nothing, because the settings make no sense.
  void RecordFailedReload(const Status& why);

  // In this order: health says NOT_SERVING, the socket closes, runs are ended (TERM, grace, KILL) and their ends
  // committed, calls are ended. Returns when all is over; a second call does nothing.
  void Stop();
  // While another thread is in Stop: the runs get no more grace.
  void KillRuns();

  // Stops; the catalog notes a clean stop.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

 private:
  struct Rooms;
  explicit Daemon(std::unique_ptr<Rooms> rooms);
  std::unique_ptr<Rooms> rooms_;
};

// "0.1.0"
const char* DaemonVersion();

}  // namespace kprof
