#include "daemon/systemd/service_manager.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "daemon/systemd/manager_variables.h"

namespace kprof {
namespace {

constexpr int64_t kNanosPerMicro = 1000;
constexpr int64_t kMostTimeoutUsec = INT64_MAX / kNanosPerMicro;

Result<int64_t> TakeWatchdogTimeout() {
  const std::string usec_text = TakeVariable("WATCHDOG_USEC");
  const std::string pid = TakeVariable("WATCHDOG_PID");
  if (usec_text.empty() || (!pid.empty() && !IsOwnPid(pid))) return 0;
  const std::optional<int64_t> usec = ReadWholeNumber(usec_text);
  if (!usec || *usec > kMostTimeoutUsec) {
    return Fail(ErrorCode::kUsage, "meet the service manager", "WATCHDOG_USEC is no number of µs: " + usec_text);
  }
  return *usec * kNanosPerMicro;
}

}  // namespace

Result<ServiceManager> MeetServiceManager(const Clock& clock) {
  ServiceNotifier notifier(TakeVariable("NOTIFY_SOCKET"), clock);
  ASSIGN_OR_RETURN(int64_t watchdog_timeout_ns, TakeWatchdogTimeout());
  ASSIGN_OR_RETURN(InheritedSockets sockets, InheritedSockets::TakeFromEnvironment());
  return ServiceManager{std::move(notifier), watchdog_timeout_ns, std::move(sockets)};
}

}  // namespace kprof
