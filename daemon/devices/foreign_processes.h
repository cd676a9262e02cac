// Who is on a device beside those whom it is for: what its driver and /proc tell at a moment. Whoever wants it to be
// quiet waits for that with quiet_wait.h.
//
// A display server, and the server of MPS, are on a device for as long as it is in use for that: they are residents,
// and count only when the device is at work though nobody else is on it. The clients of MPS are processes of their own
// and count. Pure but for /proc, which is memory; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/known_process.h"
#include "daemon/base/user_names.h"
#include "daemon/devices/device_facts.h"

namespace kprof {

// Of a device of any kind.
struct DeviceProcess {
  pid_t pid = 0;
  bool graphics = false;                 // and does not compute
  std::optional<uint64_t> memory_bytes;  // of the device
  bool operator==(const DeviceProcess&) const = default;
};

// Each pid once. Absent: the driver does not tell.
std::optional<std::vector<DeviceProcess>> ProcessesOf(const DeviceFacts& facts);

struct ForeignProcess {
  DeviceProcess on_device;
  KnownProcess known;
  bool operator==(const ForeignProcess&) const = default;
};

struct ForeignProcesses {
  std::vector<ForeignProcess> users;
  std::vector<ForeignProcess> residents;
  // It is at work, and it is not known for whom.
  bool is_busy = false;
  bool operator==(const ForeignProcesses&) const = default;
};

// `is_own`: whom it is for. The driver's pids are those of the machine: in a container with pids of its own all are
// foreign.
ForeignProcesses FindForeign(const DeviceFacts& facts, const std::function<bool(pid_t)>& is_own,
                             const std::string& proc_root = "/proc");

// Who keeps the device from being quiet: "pid 4711 (python3, user eve), pid 4712 (python3, user eve) and 3 more".
// Empty: it is quiet.
std::string WhoIsThere(const ForeignProcesses& foreign, UserNames& users);

}  // namespace kprof
