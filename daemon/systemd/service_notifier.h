// Tells the service manager how we are: datagrams to the socket that it named in NOTIFY_SOCKET, as sd_notify(3) writes
// them down. Knows nothing of when to say what; that is for main.cc and watchdog.h. Without a service manager every
// call does nothing and succeeds.
//
// Any thread. Failures are for the caller to log; none is a reason to stop.
#pragma once

#include <string>
#include <string_view>

#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace kprof {

class ServiceNotifier {
 public:
  // `address` as NOTIFY_SOCKET has it: an absolute path, or "@name" for one without a file; empty: nobody listens.
  ServiceNotifier(std::string address, const Clock& clock) : address_(std::move(address)), clock_(&clock) {}

  // What the service manager waits for. Where its queue is full these wait for room, kPatienceMs at most.
  [[nodiscard]] Status Ready(std::string_view status);  // serving, also again after Reloading
  [[nodiscard]] Status Reloading();                     // until the next Ready
  [[nodiscard]] Status Stopping(std::string_view status);
  static constexpr int kPatienceMs = 1000;

  // For its watchdog: alive. Can as well be said a little later: never waits.
  [[nodiscard]] Status Ping();

 private:
  Status Send(const std::string& message, int patience_ms) const;

  std::string address_;
  const Clock* clock_;
};

}  // namespace kprof
