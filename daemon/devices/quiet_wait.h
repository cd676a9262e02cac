// Waits until nobody else is on some devices, and finds who is. The devices are asked again and again meanwhile. A
// device that nobody can be asked about, as one that only the configuration knows, counts as quiet; one that could be
// asked and does not tell does not. Does not keep anybody from coming afterwards: among users of kprofd a lease does
// that, among the rest nobody does.
//
// Others are processes on a device beside those that it is for, as its driver and /proc tell at a moment. A display
// server, and the server of MPS, are on a device for as long as it is in use for that. They are residents, and count
// only when the device is at work though nobody else is on it. The clients of MPS are processes of their own and count.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/io_loop.h"
#include "daemon/base/user_names.h"
#include "daemon/devices/device_facts.h"
#include "daemon/devices/node_devices.h"
#include "storage/base/status.h"

namespace kprof {

// A process on a device of any kind. ProcessesOf and FindForeign: pure but for /proc, which is memory; any thread.
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
  // The device is at work, and it is not known for whom.
  bool is_busy = false;
  bool operator==(const ForeignProcesses&) const = default;
};

// `is_own`: the processes that the device is for. The driver's pids are those of the machine: in a container with pids
// of its own all are foreign.
ForeignProcesses FindForeign(const DeviceFacts& facts, const std::function<bool(pid_t)>& is_own,
                             const std::string& proc_root = "/proc");

// The processes that keep the device from being quiet: "pid 4711 (python3, user eve), pid 4712 (python3, user eve) and
// 3 more". Empty: it is quiet.
std::string WhoIsThere(const ForeignProcesses& foreign, UserNames& users);

// Io loop only. Never blocks. Everything that it is given must outlive it. Its destructor ends the wait, and nobody is
// called.
class QuietWait {
 public:
  struct Wish {
    std::vector<std::string> device_ids;
    std::function<bool(pid_t)> is_own = [](pid_t) { return false; };  // processes that the devices are for
    int64_t limit_ns = 0;                                             // 0: they are looked at once
    int64_t period_ns = kNanosPerSecond;
  };
  // Ok: all are quiet. kQueueTimeout: who is where after all that time. kNotFound: there is no such device. Called
  // once, from the loop, never from inside.
  using Done = std::function<void(Status)>;

  QuietWait(IoLoop& loop, NodeDevices& devices, UserNames& users, Wish wish, Done done);
  QuietWait(const QuietWait&) = delete;
  QuietWait& operator=(const QuietWait&) = delete;

  // The others at the last look, for people: "pid 4711 (python3, user eve) on device 0". Empty: it was quiet, or no
  // look was made yet.
  const std::string& who() const { return who_; }

 private:
  void Ask();
  void Look();
  Result<std::string> WhoIsOn(const std::string& device_id);
  void Finish(Status status);

  IoLoop& loop_;
  NodeDevices& devices_;
  UserNames& users_;
  const Wish wish_;
  Done done_;
  const int64_t since_mono_ns_;
  int64_t asked_mono_ns_ = 0;
  std::string who_;
  IoLoop::Timer again_;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);  // shared with the question under way, weakly
};

}  // namespace kprof
