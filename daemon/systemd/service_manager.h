// The service manager that started us. MeetServiceManager reads its variables from the environment: the address to tell
// it how we are (ServiceNotifier), its watchdog's time, and the listening sockets that it passed on (InheritedSockets).
// All are empty where only a shell started us.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/clock.h"
#include "storage/base/descriptors.h"
#include "storage/base/status.h"

namespace kprof {

// Tells the service manager how we are: datagrams to the socket that it named in NOTIFY_SOCKET, as sd_notify(3) writes
// them down. main.cc and watchdog.h decide when to tell what. Without a service manager every call does nothing and
// succeeds.
//
// Any thread. Failures are for the caller to log; none is a reason to stop.
class ServiceNotifier {
 public:
  // `address` as NOTIFY_SOCKET has it: an absolute path, or "@name" for one without a file; empty: nobody listens.
  ServiceNotifier(std::string address, const Clock& clock) : address_(std::move(address)), clock_(&clock) {}

  // The service manager waits for these. Where its queue is full they wait for room, kPatienceMs at most.
  [[nodiscard]] Status Ready(std::string_view status);  // serving, also again after Reloading
  [[nodiscard]] Status Reloading();                     // until the next Ready
  [[nodiscard]] Status Stopping(std::string_view status);
  static constexpr int kPatienceMs = 1000;

  // Tells its watchdog that we live. Never waits: a little later is as good.
  [[nodiscard]] Status Ping();

 private:
  Status Send(const std::string& message, int patience_ms) const;

  std::string address_;
  const Clock* clock_;
};

// Listening sockets that the service manager opened and passed on when it started us (socket activation,
// sd_listen_fds(3)): they are there before we are and stay when we go, so that clients always find a listener. Knows
// nothing of the services on them.
//
// Belongs to the thread that starts the process.
class InheritedSockets {
 public:
  InheritedSockets() = default;

  // Takes the sockets that LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES announce; none where the variables are absent or
  // meant for another process. Takes the variables out of the environment, and no child gets the sockets: call it once,
  // before there is a second thread. Fails with kUsage when an announced socket is not there.
  static Result<InheritedSockets> TakeFromEnvironment(int first_fd = kFirstFd);
  static constexpr int kFirstFd = 3;
  static constexpr int kMostSockets = 64;

  // The Unix socket of this name (FileDescriptorName= of its unit) and type (SOCK_STREAM, SOCK_SEQPACKET), made
  // non-blocking; an invalid descriptor when none was passed. Fails with kUsage when it does not listen, or is no Unix
  // socket.
  Result<UniqueFd> Take(std::string_view name, int type);

  // The names of those that nobody took: sockets at which clients would wait for ever.
  std::vector<std::string> left() const;

 private:
  struct Passed {
    std::string name;
    UniqueFd fd;
  };
  std::vector<Passed> passed_;
};

struct ServiceManager {
  ServiceNotifier notifier;
  int64_t watchdog_timeout_ns = 0;  // 0: it does not watch us
  InheritedSockets sockets;
};

// Takes its variables out of the environment, so that no child takes them for its own: call it once, before there is a
// second thread. Fails as InheritedSockets does, and with kUsage when WATCHDOG_USEC is no number. `clock` must outlive
// it.
Result<ServiceManager> MeetServiceManager(const Clock& clock);

}  // namespace kprof
