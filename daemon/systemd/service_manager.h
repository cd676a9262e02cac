// What the service manager that started us said in the environment: where it listens, whether it watches us, which
// sockets it passed on. All of it is empty where nobody but a shell did.
#pragma once

#include <cstdint>

#include "daemon/systemd/inherited_sockets.h"
#include "daemon/systemd/service_notifier.h"
#include "storage/base/clock.h"
#include "storage/base/status.h"

namespace kprof {

struct ServiceManager {
  ServiceNotifier notifier;
  int64_t watchdog_timeout_ns = 0;  // 0: it does not watch us
  InheritedSockets sockets;
};

// Takes its variables out of the environment, so that no child takes them for its own: to be called once, before there
// is a second thread. Fails as InheritedSockets does, and with kUsage when WATCHDOG_USEC is no number. `clock` must
// outlive it.
Result<ServiceManager> MeetServiceManager(const Clock& clock);

}  // namespace kprof
